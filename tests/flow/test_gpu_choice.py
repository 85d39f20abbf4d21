"""What the texts of programs say of where they run."""

from __future__ import annotations

import pytest

from torchdevlint.flow.programs.texts.gpu_choice import UNKNOWN, gpu_choice, offered_choice

MOVES_IF_AVAILABLE = "if torch.cuda.is_available():\n    model = model.cuda()\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = x.cuda()", "cuda is_current_gpu takes_current_gpu needs_current_gpu"),
        ("x = x.cuda()  # or args.device", "cuda is_current_gpu takes_current_gpu needs_current_gpu"),
        ("x = x.to('cuda:1')", ""),
        ("torch.cuda.set_device(1)\nx = x.to('cuda:1')", "is_current_gpu takes_current_gpu"),
        (MOVES_IF_AVAILABLE, "chooses cuda is_current_gpu takes_current_gpu"),
        ("p.add_argument('--device')", "chooses by_option offers"),
        ("x = x.to(args.device)", "chooses by_option offers is_current_gpu"),
        ("args.device = 'cuda'\nx = x.to(args.device)", "cuda is_current_gpu takes_current_gpu needs_current_gpu"),
        ("class C:\n    lr = 1\n    DEVICE = 'cuda:1'\n\n\nx.to(C.DEVICE)", ""),
        ("dist.init_process_group('nccl')", "processes is_current_gpu takes_current_gpu"),
        ("x = x.to(\n    'cpu'\n)", "is_current_gpu takes_current_gpu"),
        ("d = (torch.device('cuda')\n if x.is_cuda\n else torch.device('cpu'))", "is_current_gpu takes_current_gpu"),
        ("d = 'cuda' if args.gpu else 'cpu'", "chooses by_option cuda is_current_gpu"),
    ],
)
def test_a_text_says_whether_it_chooses_and_which_gpu_is_meant(text: str, said: str) -> None:
    choice = gpu_choice([text])
    questions = "chooses by_option offers processes cuda is_current_gpu takes_current_gpu needs_current_gpu".split()
    assert {each for each in questions if getattr(choice, each)} == set(said.split())


def test_texts_say_together_what_one_of_them_says() -> None:
    choice = gpu_choice(["x = x.cuda()"]) | gpu_choice(["p.add_argument('--device')"])
    assert choice.cuda
    assert choice.offers
    assert not choice.needs_current_gpu


def test_what_a_library_moves_if_it_can_is_no_choice() -> None:
    assert not offered_choice([MOVES_IF_AVAILABLE]).chooses
    assert not offered_choice(["x = x.cuda()"]).cuda


def test_what_is_not_read_may_choose_anything() -> None:
    assert UNKNOWN.offers
    assert UNKNOWN.by_option
    assert not UNKNOWN.is_current_gpu
    assert not UNKNOWN.cuda
