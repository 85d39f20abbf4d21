"""stable-baselines3: a few steps of PPO and DQN on CartPole, saved and loaded."""

# library: stable-baselines3
import tempfile
import warnings
from pathlib import Path

import torch
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy

warnings.filterwarnings("ignore", message="You are trying to run PPO on the GPU")
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
with tempfile.TemporaryDirectory() as folder:
    for algorithm, settings in ((PPO, {"n_steps": 128, "n_epochs": 4}), (DQN, {"learning_starts": 50})):
        model = algorithm("MlpPolicy", "CartPole-v1", device=device.type, seed=0, **settings)
        before = [parameter.detach().cpu().clone() for parameter in model.policy.parameters()]
        model.learn(total_timesteps=256)
        after = [parameter.detach().cpu() for parameter in model.policy.parameters()]
        assert any(not torch.equal(one, two) for one, two in zip(before, after, strict=True))
        assert next(model.policy.parameters()).device.type == device.type
        reward, _ = evaluate_policy(model, model.get_env(), n_eval_episodes=2)
        model.save(Path(folder) / "model")
        for name in (device.type, "cpu"):
            loaded = algorithm.load(Path(folder) / "model", device=name)
            assert next(loaded.policy.parameters()).device.type == name
            action, _ = loaded.predict(model.get_env().reset())
            assert action.shape == (1,)
        print(f"stable-baselines3 {algorithm.__name__} on {model.device}: reward {reward:.1f}")
