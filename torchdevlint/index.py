"""What checks and rules look on at, told without importing any of them. Written by `scripts/docs.py`.

A module is imported when something happens that it looks on at, or a fact was recorded that it has words for.
"""

CHECKS = {
    "discarded.dead_loops": {
        "EVENTS": "Discarded Looped",
    },
    "discarded.lost_moves": {
        "SETTLE": "every",
    },
    "discarded.moves": {
        "EVENTS": "Discarded",
    },
    "forgotten.asked_places": {
        "EVENTS": "FunctionCalled LayerCalled MethodCalled",
        "SAYING": "cuda device",
    },
    "forgotten.buffers_beside": {
        "METHODS": "register_buffer",
    },
    "forgotten.changes_nothing": {
        "EVENTS": "FileEnded",
        "SAYING": "DEV Dev dev",
    },
    "forgotten.converted_but_left": {
        "EVENTS": "FileEnded",
        "SAYING": "device",
    },
    "forgotten.fed_from_loader": {
        "EVENTS": "LayerCalled ModuleCalled UnknownCalled",
    },
    "forgotten.forgotten_arms": {
        "EVENTS": "FileEnded",
        "SAYING": ".cuda( device",
    },
    "forgotten.forgotten_attributes": {
        "EVENTS": "FileEnded",
    },
    "forgotten.kept_by_objects": {
        "EVENTS": "Returned",
    },
    "forgotten.left_among_moves": {
        "EVENTS": "FileEnded",
        "SAYING": ".cuda( .to(",
    },
    "forgotten.left_in_one_case": {
        "EVENTS": "FileEnded",
        "SAYING": ").cuda( ).to(",
    },
    "forgotten.left_in_other_method": {
        "EVENTS": "FileStarted",
        "SAYING": ".cuda( .to(",
    },
    "forgotten.left_of_alike": {
        "EVENTS": "FileEnded",
        "SAYING": ".cuda( .to(",
    },
    "forgotten.left_of_defaults": {
        "EVENTS": "FileEnded",
        "SAYING": "device=",
    },
    "forgotten.left_of_host_data": {
        "EVENTS": "FileEnded",
        "SAYING": "FloatTensor( as_tensor( asarray( from_numpy( torch.tensor(",
    },
    "forgotten.left_of_kept": {
        "EVENTS": "FunctionEnded",
    },
    "forgotten.left_of_like": {
        "FUNCTIONS": "torch.empty torch.ones torch.rand torch.randn torch.zeros",
    },
    "forgotten.left_of_pairs": {
        "EVENTS": "FileEnded",
        "SAYING": ".cuda( .to(",
    },
    "forgotten.left_of_records": {
        "EVENTS": "FileEnded",
        "SAYING": ".cuda( .to(",
    },
    "forgotten.left_of_returned": {
        "EVENTS": "FileEnded",
        "SAYING": ").cuda( ).to( device=",
    },
    "forgotten.left_of_several": {
        "EVENTS": "FileEnded",
        "SAYING": ".cuda( .to(",
    },
    "forgotten.left_of_twins": {
        "EVENTS": "FileEnded",
        "SAYING": ".cuda( .to(",
    },
    "forgotten.left_of_unpacked": {
        "EVENTS": "FileStarted",
        "SAYING": ".cuda( .to(",
    },
    "forgotten.made_as_large": {
        "EVENTS": "FileEnded",
        "SAYING": "device=",
    },
    "forgotten.own_movers": {
        "EVENTS": "FileStarted",
    },
    "forgotten.put_together_again": {
        "EVENTS": "FileEnded",
        "SAYING": ".to( cuda device",
    },
    "forgotten.raw_devices": {
        "EVENTS": "FileEnded",
        "SAYING": "DEV Dev dev",
    },
    "forgotten.returned_without_device": {
        "EVENTS": "FileEnded",
        "SAYING": "device",
    },
    "forgotten.round_trips": {
        "EVENTS": "FunctionEnded Returned",
    },
    "forgotten.tested_but_left": {
        "EVENTS": "FileEnded",
        "SAYING": "CUDA Cuda DEV Dev GPU Gpu cuda dev gpu",
    },
    "forgotten.unread_attributes": {
        "EVENTS": "FileEnded FunctionEnded",
    },
    "forgotten.unread_by_helpers": {
        "EVENTS": "FileEnded",
        "SAYING": "DEV Dev dev",
    },
    "forgotten.unread_by_returned": {
        "EVENTS": "FileEnded",
        "SAYING": "device",
    },
    "forgotten.unread_devices": {
        "EVENTS": "FileEnded FileStarted",
        "SAYING": "DEV Dev dev",
    },
    "literals.asked_devices": {
        "FUNCTIONS": "torch.device",
    },
    "literals.calls_with_cuda": {
        "EVENTS": "ForeignCalled FunctionCalled Operated UnknownCalled",
        "SAYING": "cuda device",
    },
    "literals.cuda_beside_option": {
        "EVENTS": "Met",
    },
    "literals.cuda_unless_told": {
        "EVENTS": "FunctionCalled",
    },
    "literals.device_specs": {
        "FUNCTIONS": (
            "torch.BFloat16Tensor torch.BoolTensor torch.ByteTensor torch.CharTensor torch.DoubleTensor"
            " torch.FloatTensor torch.Generator torch.HalfTensor torch.IntTensor torch.LongTensor"
            " torch.ShortTensor torch.Tensor torch.amp.autocast torch.arange torch.as_tensor torch.asarray"
            " torch.autocast torch.bartlett_window torch.blackman_window torch.cuda.device torch.cuda.set_device"
            " torch.device torch.empty torch.empty_like torch.empty_permuted torch.empty_quantized"
            " torch.empty_strided torch.eye torch.fft.fftfreq torch.fft.rfftfreq torch.from_file torch.from_numpy"
            " torch.frombuffer torch.full torch.full_like torch.hamming_window torch.hann_window"
            " torch.hub.load_state_dict_from_url torch.jit.load torch.kaiser_window torch.linspace torch.load"
            " torch.logspace torch.nn.AdaptiveLogSoftmaxWithLoss torch.nn.BatchNorm1d torch.nn.BatchNorm2d"
            " torch.nn.BatchNorm3d torch.nn.Bilinear torch.nn.Conv1d torch.nn.Conv2d torch.nn.Conv3d"
            " torch.nn.ConvTranspose1d torch.nn.ConvTranspose2d torch.nn.ConvTranspose3d torch.nn.Embedding"
            " torch.nn.EmbeddingBag torch.nn.GRU torch.nn.GRUCell torch.nn.GroupNorm torch.nn.InstanceNorm1d"
            " torch.nn.InstanceNorm2d torch.nn.InstanceNorm3d torch.nn.LSTM torch.nn.LSTMCell torch.nn.LayerNorm"
            " torch.nn.LazyBatchNorm1d torch.nn.LazyBatchNorm2d torch.nn.LazyBatchNorm3d torch.nn.LazyConv1d"
            " torch.nn.LazyConv2d torch.nn.LazyConv3d torch.nn.LazyConvTranspose1d torch.nn.LazyConvTranspose2d"
            " torch.nn.LazyConvTranspose3d torch.nn.LazyInstanceNorm1d torch.nn.LazyInstanceNorm2d"
            " torch.nn.LazyInstanceNorm3d torch.nn.LazyLinear torch.nn.Linear torch.nn.LinearCrossEntropyLoss"
            " torch.nn.MultiheadAttention torch.nn.PReLU torch.nn.RMSNorm torch.nn.RNN torch.nn.RNNCell"
            " torch.nn.SyncBatchNorm torch.nn.Transformer torch.nn.Transformer.generate_square_subsequent_mask"
            " torch.nn.TransformerDecoder torch.nn.TransformerDecoderLayer torch.nn.TransformerEncoder"
            " torch.nn.TransformerEncoderLayer torch.normal torch.ones torch.ones_like torch.rand torch.rand_like"
            " torch.randint torch.randint_like torch.randn torch.randn_like torch.randperm torch.range"
            " torch.scalar_tensor torch.set_default_device torch.signal.windows.bartlett"
            " torch.signal.windows.blackman torch.signal.windows.cosine torch.signal.windows.exponential"
            " torch.signal.windows.gaussian torch.signal.windows.general_cosine"
            " torch.signal.windows.general_hamming torch.signal.windows.hamming torch.signal.windows.hann"
            " torch.signal.windows.kaiser torch.signal.windows.nuttall torch.sparse_bsc_tensor"
            " torch.sparse_bsr_tensor torch.sparse_compressed_tensor torch.sparse_coo_tensor"
            " torch.sparse_csc_tensor torch.sparse_csr_tensor torch.tensor torch.tril_indices torch.triu_indices"
            " torch.utils.model_zoo.load_url torch.zeros torch.zeros_like"
        ),
        "METHODS": "cuda new_empty new_empty_strided new_full new_ones new_tensor new_zeros to",
    },
    "literals.generators": {
        "FUNCTIONS": "torch.Generator",
    },
    "literals.handed_literals": {
        "EVENTS": "Constructed FunctionCalled UnknownCalled",
        "SAYING": "device",
    },
    "literals.hardcoded": {
        "EVENTS": "FileStarted",
    },
    "literals.kernel_buffers": {
        "EVENTS": "Placed",
    },
    "literals.lone_literals": {
        "EVENTS": "Constructed ForeignCalled FunctionCalled MethodCalled Placed UnknownCalled",
        "SAYING": ".to(0 cuda device",
    },
    "literals.meant_places": {
        "EVENTS": "Placed",
    },
    "literals.placement": {
        "EVENTS": "FunctionCalled LayerCalled Met Placed",
        "FUNCTIONS": "torch.cuda.Stream torch.cuda.current_stream",
    },
    "loads.checkpoints": {
        "EVENTS": "ForeignCalled FunctionReturned ModuleMethodCalled",
        "FUNCTIONS": (
            "TTS.utils.io.load_fsspec mmcv.runner.checkpoint.load_checkpoint mmcv.runner.load_checkpoint"
            " pytorch_lightning.utilities.cloud_io.load torch.hub.load_state_dict_from_url torch.jit.load"
            " torch.load torch.save torch.serialization.load torch.utils.model_zoo.load_url"
            " torchvision._internally_replaced_utils.load_state_dict_from_url"
            " torchvision.models.utils.load_state_dict_from_url"
        ),
    },
    "models.early_copies": {
        "EVENTS": "Placed",
    },
    "models.handed_models": {
        "EVENTS": "ModuleCalled",
    },
    "models.kept_models": {
        "EVENTS": "ModuleCalled",
    },
    "models.late_layers": {
        "EVENTS": "Placed",
    },
    "models.replaced_parts": {
        "EVENTS": "AttributeAssigned",
    },
    "models.unmoved_models": {
        "EVENTS": "LayerCalled MethodCalled ModuleCalled",
        "SAYING": ".to( cuda device",
    },
    "operands.appended_apart": {
        "EVENTS": "Returned",
        "FUNCTIONS": (
            "torch.cat torch.column_stack torch.concat torch.concatenate torch.dstack torch.hstack"
            " torch.row_stack torch.stack torch.vstack"
        ),
        "METHODS": "append",
    },
    "operands.backward_sums": {
        "EVENTS": "Augmented",
    },
    "operands.draws": {
        "EVENTS": "Drawn ModuleCalled",
        "SETTLE": "every",
    },
    "operands.example_inputs": {
        "FUNCTIONS": (
            "fvcore.nn.FlopCountAnalysis fvcore.nn.flop_count thop.profile torch.export.export torch.jit.trace"
            " torch.onnx.export"
        ),
        "METHODS": "add_graph",
    },
    "operands.fallbacks_beside": {
        "EVENTS": "ForeignCalled MethodCalled UnknownCalled",
    },
    "operands.fed_elsewhere": {
        "EVENTS": "LayerCalled",
        "SAYING": ".to( cuda map_location",
    },
    "operands.first_states": {
        "EVENTS": "Returned",
    },
    "operands.handed_on_together": {
        "EVENTS": "Constructed ForeignCalled Returned UnknownCalled",
    },
    "operands.host_reads": {
        "EVENTS": "ItemAssigned LibraryCalled ReadByHost",
    },
    "operands.leaving_together": {
        "EVENTS": "LayerCalled Returned",
    },
    "operands.made_targets": {
        "EVENTS": "LayerCalled MethodCalled",
    },
    "operands.mixing": {
        "EVENTS": "Collected Mixed",
    },
    "operands.models_beside": {
        "EVENTS": "LayerCalled",
    },
    "operands.moved_among": {
        "EVENTS": "LayerCalled ModuleCalled",
    },
    "operands.one_placed_of_two": {
        "EVENTS": "FunctionEnded",
    },
    "operands.optimizer_states": {
        "EVENTS": "FileStarted",
    },
    "operands.parted_by_edit": {
        "EVENTS": "Met",
        "SETTLE": "every",
    },
    "operands.parts_in_call": {
        "EVENTS": "LayerCalled ModuleCalled",
    },
    "operands.rebound_on_cpu": {
        "EVENTS": "FileStarted",
        "SAYING": ".to( cpu cuda device",
    },
    "operands.returns": {
        "EVENTS": "Filled FunctionEnded Marked Returned",
    },
    "operands.sized_alike": {
        "EVENTS": "ForeignCalled LayerCalled Placed Returned",
    },
    "operands.sized_partners": {
        "EVENTS": "LayerCalled Operated",
        "METHODS": "add_ addcdiv_ addcmul_ div_ lerp_ mul_ sub_",
    },
    "operands.stayed_beside": {
        "EVENTS": "LayerCalled",
    },
    "operands.typed_alike": {
        "EVENTS": "Constructed ForeignCalled FunctionCalled Returned UnknownCalled",
    },
    "operands.unseen_layers": {
        "EVENTS": "LayerCalled",
    },
    "processes.collectives": {
        "FUNCTIONS": (
            "torch.distributed.all_gather torch.distributed.all_gather_into_tensor torch.distributed.all_reduce"
            " torch.distributed.all_to_all torch.distributed.all_to_all_single torch.distributed.broadcast"
            " torch.distributed.distributed_c10d.all_gather"
            " torch.distributed.distributed_c10d.all_gather_into_tensor"
            " torch.distributed.distributed_c10d.all_reduce torch.distributed.distributed_c10d.all_to_all"
            " torch.distributed.distributed_c10d.all_to_all_single torch.distributed.distributed_c10d.broadcast"
            " torch.distributed.distributed_c10d.gather torch.distributed.distributed_c10d.irecv"
            " torch.distributed.distributed_c10d.isend torch.distributed.distributed_c10d.recv"
            " torch.distributed.distributed_c10d.reduce torch.distributed.distributed_c10d.reduce_scatter"
            " torch.distributed.distributed_c10d.reduce_scatter_tensor torch.distributed.distributed_c10d.scatter"
            " torch.distributed.distributed_c10d.send torch.distributed.gather torch.distributed.irecv"
            " torch.distributed.isend torch.distributed.recv torch.distributed.reduce"
            " torch.distributed.reduce_scatter torch.distributed.reduce_scatter_tensor torch.distributed.scatter"
            " torch.distributed.send"
        ),
        "METHODS": "gather gather_for_metrics reduce",
    },
    "processes.environment": {
        "EVENTS": "Augmented Entered ItemAssigned Placed",
        "FUNCTIONS": (
            "os.environ.__setitem__ os.environ.setdefault os.environ.update os.putenv"
            " torch.accelerator.current_accelerator torch.accelerator.device_count torch.accelerator.is_available"
            " torch.amp.GradScaler torch.amp.autocast torch.autocast torch.cuda.Event torch.cuda.Stream"
            " torch.cuda.amp.GradScaler torch.cuda.amp.autocast torch.cuda.current_blas_handle"
            " torch.cuda.current_device torch.cuda.current_stream torch.cuda.default_stream"
            " torch.cuda.device_count torch.cuda.get_device_capability torch.cuda.get_device_name"
            " torch.cuda.get_device_properties torch.cuda.get_rng_state torch.cuda.get_rng_state_all"
            " torch.cuda.init torch.cuda.is_available torch.cuda.is_bf16_supported torch.cuda.mem_get_info"
            " torch.cuda.reset_peak_memory_stats torch.cuda.set_device torch.cuda.set_rng_state"
            " torch.cuda.synchronize torch.nn.DataParallel torch.nn.parallel.DataParallel"
        ),
    },
    "processes.own_gpus": {
        "FUNCTIONS": (
            "torch.accelerator.set_device_index torch.arange torch.as_tensor torch.asarray torch.bartlett_window"
            " torch.blackman_window torch.cuda.device torch.cuda.set_device torch.device torch.distributed.barrier"
            " torch.empty torch.empty_like torch.empty_permuted torch.empty_quantized torch.empty_strided"
            " torch.eye torch.from_file torch.from_numpy torch.frombuffer torch.full torch.full_like"
            " torch.hamming_window torch.hann_window torch.kaiser_window torch.linspace torch.logspace"
            " torch.nn.parallel.DistributedDataParallel torch.normal torch.ones torch.ones_like torch.rand"
            " torch.rand_like torch.randint torch.randint_like torch.randn torch.randn_like torch.randperm"
            " torch.range torch.scalar_tensor torch.sparse_bsc_tensor torch.sparse_bsr_tensor"
            " torch.sparse_compressed_tensor torch.sparse_coo_tensor torch.sparse_csc_tensor"
            " torch.sparse_csr_tensor torch.tensor torch.tril_indices torch.triu_indices torch.zeros"
            " torch.zeros_like"
        ),
        "METHODS": "cuda to",
    },
    "processes.workers": {
        "FUNCTIONS": (
            "monai.data.DataLoader torch.utils.data.DataLoader torch.utils.data.dataloader.DataLoader"
            " torch_geometric.data.DataLoader torch_geometric.loader.DataLoader"
        ),
    },
    "registration.assigned_later": {
        "EVENTS": "FunctionEnded",
    },
    "registration.containers": {
        "EVENTS": "AttributeRefused Initialised ItemAssigned",
    },
    "registration.device_markers": {
        "EVENTS": "DeviceRead",
        "METHODS": "type_as",
    },
    "registration.handed_along": {
        "EVENTS": "ForeignCalled UnknownCalled",
    },
    "registration.kept_together": {
        "EVENTS": "FunctionEnded",
    },
    "registration.like_buffers": {
        "EVENTS": "FunctionEnded",
        "SAYING": "register_buffer",
    },
    "registration.moved_parameters": {
        "EVENTS": "AttributeAssigned",
        "SAYING": ".to( cpu( cuda device",
    },
    "registration.parameters_beside": {
        "EVENTS": "AttributeAssigned ModuleMethodCalled",
    },
    "registration.put_with_buffers": {
        "EVENTS": "FunctionEnded",
        "SAYING": "register_buffer",
    },
    "registration.rebound_buffers": {
        "EVENTS": "AttributeAssigned",
    },
    "registration.returned_containers": {
        "EVENTS": "Returned",
    },
    "registration.set_by_name": {
        "FUNCTIONS": "builtins.setattr",
    },
    "registration.set_on_others": {
        "EVENTS": "AttributeAssigned",
    },
}
RULES = {
    "tdl001_unassigned_tensor_move": {
        "SEVERITY": "ERROR",
        "FACTS": "DiscardedMove",
    },
    "tdl002_dead_loop_move": {
        "SEVERITY": "ERROR",
        "FACTS": "DeadLoopMove",
    },
    "tdl003_factory_in_forward": {
        "SEVERITY": "ERROR",
        "FACTS": "MixedDevices",
    },
    "tdl004_mixed_device_operands": {
        "SEVERITY": "ERROR",
        "FACTS": "MixedDevices",
    },
    "tdl005_batch_not_moved": {
        "SEVERITY": "ERROR",
        "FACTS": "BatchNotMoved",
    },
    "tdl006_numpy_on_accelerator": {
        "SEVERITY": "ERROR",
        "FACTS": "ReadOnHost",
    },
    "tdl007_cpu_table_device_index": {
        "SEVERITY": "ERROR",
        "FACTS": "MixedDevices",
    },
    "tdl008_cpu_scalar_accumulator": {
        "SEVERITY": "ERROR",
        "FACTS": "MixedDevices",
    },
    "tdl009_legacy_tensor_type": {
        "SEVERITY": "WARNING",
        "FACTS": "MixedDevices",
    },
    "tdl010_loss_not_moved": {
        "SEVERITY": "ERROR",
        "FACTS": "LossNotMoved",
        "EVENTS": "AttributeAssigned Escaped ModuleCompared ModuleMethodCalled",
        "FUNCTIONS": "builtins.filter builtins.map builtins.setattr builtins.vars",
    },
    "tdl011_read_before_sync": {
        "SEVERITY": "ERROR",
        "FACTS": "ReadBeforeSync",
        "FUNCTIONS": (
            "builtins.all builtins.any builtins.bool builtins.float builtins.int builtins.list builtins.max"
            " builtins.min builtins.print builtins.sorted builtins.str builtins.sum builtins.tuple"
        ),
        "METHODS": (
            "all any argmax argsort astype barrier copy cpu dump item join max mean min numpy result round std"
            " sum synchronize to tobytes tofile tolist wait"
        ),
    },
    "tdl012_cuda_ignores_given_device": {
        "SEVERITY": "WARNING",
        "FACTS": "IgnoresGivenDevice",
    },
    "tdl013_packed_lengths_on_accelerator": {
        "SEVERITY": "ERROR",
        "FACTS": "LengthsOnAccelerator",
        "EVENTS": "Met",
        "FUNCTIONS": "torch.nn.utils.rnn.pack_padded_sequence",
    },
    "tdl014_factory_mixed_with_argument": {
        "SEVERITY": "ERROR",
        "FACTS": "MixedDevices",
    },
    "tdl101_unregistered_tensor_attribute": {
        "SEVERITY": "ERROR",
        "FACTS": "MixedDevices",
    },
    "tdl102_modules_in_python_container": {
        "SEVERITY": "ERROR",
        "FACTS": "ModulesInContainer",
    },
    "tdl103_parameter_moved_after_wrap": {
        "SEVERITY": "ERROR",
        "FACTS": "MovedParameter",
    },
    "tdl104_nonleaf_optimized": {
        "SEVERITY": "ERROR",
        "FACTS": "NonLeaf",
        "EVENTS": "GradientRead",
        "FUNCTIONS": (
            "torch.optim.ASGD torch.optim.Adadelta torch.optim.Adafactor torch.optim.Adagrad torch.optim.Adam"
            " torch.optim.AdamW torch.optim.Adamax torch.optim.LBFGS torch.optim.Muon torch.optim.NAdam"
            " torch.optim.RAdam torch.optim.RMSprop torch.optim.Rprop torch.optim.SGD torch.optim.SparseAdam"
            " torch.optim.adadelta.Adadelta torch.optim.adafactor.Adafactor torch.optim.adagrad.Adagrad"
            " torch.optim.adam.Adam torch.optim.adamax.Adamax torch.optim.adamw.AdamW torch.optim.asgd.ASGD"
            " torch.optim.lbfgs.LBFGS torch.optim.muon.Muon torch.optim.nadam.NAdam torch.optim.radam.RAdam"
            " torch.optim.rmsprop.RMSprop torch.optim.rprop.Rprop torch.optim.sgd.SGD"
            " torch.optim.sparseadam.SparseAdam"
        ),
    },
    "tdl105_module_built_in_forward": {
        "SEVERITY": "ERROR",
        "FACTS": "ModuleBuiltInForward",
        "EVENTS": "ModuleCalled",
    },
    "tdl106_ineffective_to_override": {
        "SEVERITY": "WARNING",
        "FACTS": "IneffectiveMove",
        "EVENTS": "FileEnded",
    },
    "tdl107_module_has_no_device": {
        "SEVERITY": "ERROR",
        "FACTS": "DeviceOfModule",
        "EVENTS": "AttributeRead",
    },
    "tdl201_load_without_map_location": {
        "SEVERITY": "WARNING",
        "FACTS": "CheckpointLoad",
    },
    "tdl202_wrapped_state_dict": {
        "SEVERITY": "WARNING",
        "FACTS": "WrappedStateDict",
    },
    "tdl203_optimizer_order": {
        "SEVERITY": "ERROR",
        "FACTS": "OptimizerOrder",
        "FUNCTIONS": "torch.optim.Adagrad torch.optim.adagrad.Adagrad",
        "METHODS": "cpu cuda hpu ipu load_state_dict mlu mps mtia npu to xpu",
    },
    "tdl301_late_cuda_visible_devices": {
        "SEVERITY": "ERROR",
        "FACTS": "LateVisibleDevices",
    },
    "tdl302_malformed_cuda_visible_devices": {
        "SEVERITY": "ERROR",
        "FACTS": "MalformedVisibleDevices",
    },
    "tdl303_invalid_device_spec": {
        "SEVERITY": "ERROR",
        "FACTS": "InvalidDevice",
    },
    "tdl304_get_device_as_device": {
        "SEVERITY": "ERROR",
        "FACTS": "DeviceNumber",
        "FUNCTIONS": (
            "torch.Generator torch.arange torch.as_tensor torch.asarray torch.bartlett_window"
            " torch.blackman_window torch.device torch.empty torch.empty_like torch.empty_permuted"
            " torch.empty_quantized torch.empty_strided torch.eye torch.fft.fftfreq torch.fft.rfftfreq"
            " torch.from_file torch.from_numpy torch.frombuffer torch.full torch.full_like torch.hamming_window"
            " torch.hann_window torch.kaiser_window torch.linspace torch.logspace"
            " torch.nn.AdaptiveLogSoftmaxWithLoss torch.nn.BatchNorm1d torch.nn.BatchNorm2d torch.nn.BatchNorm3d"
            " torch.nn.Bilinear torch.nn.Conv1d torch.nn.Conv2d torch.nn.Conv3d torch.nn.ConvTranspose1d"
            " torch.nn.ConvTranspose2d torch.nn.ConvTranspose3d torch.nn.Embedding torch.nn.EmbeddingBag"
            " torch.nn.GRU torch.nn.GRUCell torch.nn.GroupNorm torch.nn.InstanceNorm1d torch.nn.InstanceNorm2d"
            " torch.nn.InstanceNorm3d torch.nn.LSTM torch.nn.LSTMCell torch.nn.LayerNorm torch.nn.LazyBatchNorm1d"
            " torch.nn.LazyBatchNorm2d torch.nn.LazyBatchNorm3d torch.nn.LazyConv1d torch.nn.LazyConv2d"
            " torch.nn.LazyConv3d torch.nn.LazyConvTranspose1d torch.nn.LazyConvTranspose2d"
            " torch.nn.LazyConvTranspose3d torch.nn.LazyInstanceNorm1d torch.nn.LazyInstanceNorm2d"
            " torch.nn.LazyInstanceNorm3d torch.nn.LazyLinear torch.nn.Linear torch.nn.LinearCrossEntropyLoss"
            " torch.nn.MultiheadAttention torch.nn.PReLU torch.nn.RMSNorm torch.nn.RNN torch.nn.RNNCell"
            " torch.nn.SyncBatchNorm torch.nn.Transformer torch.nn.Transformer.generate_square_subsequent_mask"
            " torch.nn.TransformerDecoder torch.nn.TransformerDecoderLayer torch.nn.TransformerEncoder"
            " torch.nn.TransformerEncoderLayer torch.normal torch.ones torch.ones_like torch.rand torch.rand_like"
            " torch.randint torch.randint_like torch.randn torch.randn_like torch.randperm torch.range"
            " torch.scalar_tensor torch.set_default_device torch.signal.windows.bartlett"
            " torch.signal.windows.blackman torch.signal.windows.cosine torch.signal.windows.exponential"
            " torch.signal.windows.gaussian torch.signal.windows.general_cosine"
            " torch.signal.windows.general_hamming torch.signal.windows.hamming torch.signal.windows.hann"
            " torch.signal.windows.kaiser torch.signal.windows.nuttall torch.sparse_bsc_tensor"
            " torch.sparse_bsr_tensor torch.sparse_compressed_tensor torch.sparse_coo_tensor"
            " torch.sparse_csc_tensor torch.sparse_csr_tensor torch.tensor torch.tril_indices torch.triu_indices"
            " torch.zeros torch.zeros_like"
        ),
        "METHODS": "cuda new_empty new_empty_strided new_full new_ones new_tensor new_zeros to",
    },
    "tdl305_cuda_call_with_maybe_cpu_device": {
        "SEVERITY": "WARNING",
        "FACTS": "MaybeCpuDevice",
        "FUNCTIONS": "torch.cuda.device torch.cuda.set_device",
        "METHODS": "cuda",
    },
    "tdl306_default_device_breaks_sampler": {
        "SEVERITY": "ERROR",
        "FACTS": "SamplerOnCpu",
        "FUNCTIONS": (
            "torch.utils.data.DataLoader torch.utils.data.DistributedSampler torch.utils.data.RandomSampler"
            " torch.utils.data.dataloader.DataLoader torch.utils.data.dataset.random_split"
            " torch.utils.data.distributed.DistributedSampler torch.utils.data.random_split"
            " torch.utils.data.sampler.RandomSampler torch_geometric.loader.DataLoader"
        ),
    },
    "tdl307_cuda_in_dataset_worker": {
        "SEVERITY": "ERROR",
        "FACTS": "AcceleratorInWorker",
    },
    "tdl308_cuda_before_fork": {
        "SEVERITY": "WARNING",
        "FACTS": "AcceleratorAfterFork",
        "FUNCTIONS": (
            "concurrent.futures.ProcessPoolExecutor multiprocessing.Pool multiprocessing.pool.Pool"
            " torch.multiprocessing.Pool"
        ),
        "METHODS": "apply apply_async imap imap_unordered map map_async starmap starmap_async start submit",
    },
    "tdl309_pin_device_tensor": {
        "SEVERITY": "ERROR",
        "FACTS": "PinnedOnDevice",
        "FUNCTIONS": (
            "monai.data.DataLoader torch.arange torch.bartlett_window torch.blackman_window torch.empty"
            " torch.empty_like torch.empty_permuted torch.empty_quantized torch.empty_strided torch.eye"
            " torch.from_file torch.from_numpy torch.frombuffer torch.full torch.full_like torch.hamming_window"
            " torch.hann_window torch.kaiser_window torch.linspace torch.logspace torch.normal torch.ones"
            " torch.ones_like torch.rand torch.rand_like torch.randint torch.randint_like torch.randn"
            " torch.randn_like torch.randperm torch.range torch.scalar_tensor torch.sparse_bsc_tensor"
            " torch.sparse_bsr_tensor torch.sparse_compressed_tensor torch.sparse_coo_tensor"
            " torch.sparse_csc_tensor torch.sparse_csr_tensor torch.tril_indices torch.triu_indices"
            " torch.utils.data.DataLoader torch.utils.data.dataloader.DataLoader torch.zeros torch.zeros_like"
            " torch_geometric.data.DataLoader torch_geometric.loader.DataLoader"
        ),
        "METHODS": "new new_empty new_empty_strided new_full new_ones new_tensor new_zeros pin_memory",
    },
    "tdl310_device_not_forwarded": {
        "SEVERITY": "WARNING",
        "FACTS": "DeviceNotForwarded LeftBehind",
        "EVENTS": "Constructed FunctionCalled FunctionEnded",
        "FUNCTIONS": (
            "torch.hub.load_state_dict_from_url torch.jit.load torch.load torch.serialization.load"
            " torch.utils.model_zoo.load_url"
        ),
        "METHODS": "__init__",
    },
    "tdl311_device_test_never_true": {
        "SEVERITY": "ERROR",
        "FACTS": "NeverTrue",
        "EVENTS": "Asked Compared",
        "FUNCTIONS": "builtins.isinstance",
        "METHODS": "is_cuda",
    },
    "tdl312_generator_on_another_device": {
        "SEVERITY": "ERROR",
        "FACTS": "GeneratorElsewhere",
        "FUNCTIONS": (
            "torch.bernoulli torch.multinomial torch.nn.init.kaiming_normal_ torch.nn.init.kaiming_uniform_"
            " torch.nn.init.normal_ torch.nn.init.orthogonal_ torch.nn.init.sparse_ torch.nn.init.trunc_normal_"
            " torch.nn.init.uniform_ torch.nn.init.xavier_normal_ torch.nn.init.xavier_uniform_ torch.normal"
            " torch.poisson torch.rand torch.randint torch.randn torch.randperm torch.utils.data.DataLoader"
            " torch.utils.data.RandomSampler torch.utils.data.SubsetRandomSampler"
            " torch.utils.data.WeightedRandomSampler torch.utils.data.random_split"
        ),
        "METHODS": (
            "RReLU RReLU_ bernoulli bernoulli_ binomial binomial_ cauchy cauchy_ exponential exponential_"
            " geometric geometric_ gumbel_softmax gumbel_softmax_ log_normal log_normal_ multinomial multinomial_"
            " normal normal_ poisson poisson_ rand_like rand_like_ randint_like randint_like_ randn_like"
            " randn_like_ random random_ rrelu rrelu_ rsample rsample_ sample sample_ sample_n sample_n_"
            " standard_gamma standard_gamma_ trunc_normal trunc_normal_ uniform uniform_"
        ),
    },
    "tdl401_data_parallel_device": {
        "SEVERITY": "ERROR",
        "FACTS": "DataParallelElsewhere",
        "EVENTS": "ModuleCalled",
    },
    "tdl402_data_parallel_forward_state": {
        "SEVERITY": "WARNING",
        "FACTS": "StateOfReplica",
        "EVENTS": "Wrapped",
    },
    "tdl403_data_parallel_scalar_loss": {
        "SEVERITY": "ERROR",
        "FACTS": "GatheredLoss",
        "METHODS": "backward item",
    },
    "tdl404_rank_device_mismatch": {
        "SEVERITY": "WARNING",
        "FACTS": "RankMismatch",
    },
    "tdl405_move_after_device_map": {
        "SEVERITY": "WARNING",
        "FACTS": "MovedAfterDispatch",
        "FUNCTIONS": "torch.nn.DataParallel torch.nn.parallel.DataParallel",
        "METHODS": "cuda to",
    },
    "tdl406_attribute_through_wrapper": {
        "SEVERITY": "ERROR",
        "FACTS": "HiddenAttribute",
        "EVENTS": "AttributeRead",
        "FUNCTIONS": (
            "peft.get_peft_model_state_dict peft.set_peft_model_state_dict peft.utils.get_peft_model_state_dict"
            " peft.utils.save_and_load.get_peft_model_state_dict"
            " peft.utils.save_and_load.set_peft_model_state_dict peft.utils.set_peft_model_state_dict"
        ),
    },
    "tdl501_hardcoded_cuda": {
        "SEVERITY": "ADVICE",
        "FACTS": "NamedCuda",
    },
    "tdl502_hardcoded_ordinal": {
        "SEVERITY": "ADVICE",
        "FACTS": "NamedCuda",
    },
    "tdl503_cuda_only_selection": {
        "SEVERITY": "ADVICE",
        "FACTS": "CudaOnlySelection",
        "EVENTS": "Branched",
    },
    "tdl504_deprecated_cuda_amp": {
        "SEVERITY": "ADVICE",
        "FACTS": "DeprecatedAmp",
        "EVENTS": "Decorated",
        "FUNCTIONS": (
            "torch.cuda.amp.GradScaler torch.cuda.amp.autocast torch.cuda.amp.autocast_mode.GradScaler"
            " torch.cuda.amp.autocast_mode.autocast torch.cuda.amp.autocast_mode.custom_bwd"
            " torch.cuda.amp.autocast_mode.custom_fwd torch.cuda.amp.custom_bwd torch.cuda.amp.custom_fwd"
            " torch.cuda.amp.grad_scaler.GradScaler torch.cuda.amp.grad_scaler.autocast"
            " torch.cuda.amp.grad_scaler.custom_bwd torch.cuda.amp.grad_scaler.custom_fwd"
        ),
    },
    "tdl505_deprecated_default_tensor_type": {
        "SEVERITY": "ADVICE",
        "FACTS": "DefaultTensorType",
        "FUNCTIONS": "torch.set_default_tensor_type",
    },
    "tdl506_mps_float64": {
        "SEVERITY": "ADVICE",
        "FACTS": "DoubleOnMps",
        "FUNCTIONS": (
            "torch.arange torch.as_tensor torch.asarray torch.bartlett_window torch.blackman_window torch.empty"
            " torch.empty_permuted torch.empty_quantized torch.empty_strided torch.eye torch.from_file"
            " torch.from_numpy torch.frombuffer torch.full torch.hamming_window torch.hann_window"
            " torch.kaiser_window torch.linspace torch.logspace torch.normal torch.ones torch.rand torch.randint"
            " torch.randn torch.randperm torch.range torch.scalar_tensor torch.sparse_bsc_tensor"
            " torch.sparse_bsr_tensor torch.sparse_compressed_tensor torch.sparse_coo_tensor"
            " torch.sparse_csc_tensor torch.sparse_csr_tensor torch.tensor torch.tril_indices torch.triu_indices"
            " torch.zeros"
        ),
        "METHODS": "mps to",
    },
    "tdl601_factory_then_move": {
        "SEVERITY": "ADVICE",
        "FACTS": "FactoryThenMove",
        "METHODS": "cpu cuda hpu ipu mlu mps mtia npu to type_as xpu",
    },
    "tdl602_sync_in_hot_loop": {
        "SEVERITY": "ADVICE",
        "FACTS": "WaitInStep",
        "FUNCTIONS": (
            "builtins.float builtins.int builtins.print torch.accelerator.synchronize torch.cuda.empty_cache"
            " torch.cuda.synchronize"
        ),
        "METHODS": "cpu item numpy tolist",
    },
    "tdl603_unpinned_transfer": {
        "SEVERITY": "ADVICE",
        "FACTS": "UnpinnedLoader",
        "METHODS": "cuda to xpu",
    },
    "tdl604_loop_invariant_move": {
        "SEVERITY": "ADVICE",
        "FACTS": "RepeatedMove",
        "METHODS": "cuda hpu mps npu to xpu",
    },
    "tdl605_unsynchronised_timing": {
        "SEVERITY": "ADVICE",
        "FACTS": "UnsynchronisedTiming",
        "FUNCTIONS": (
            "builtins.all builtins.any builtins.bool builtins.float builtins.int builtins.list builtins.max"
            " builtins.min builtins.print builtins.sorted builtins.str builtins.sum time.monotonic"
            " time.monotonic_ns time.perf_counter time.perf_counter_ns time.time time.time_ns timeit.default_timer"
            " torch.accelerator.synchronize torch.cuda.empty_cache torch.cuda.synchronize"
            " torch.distributed.barrier torch.mps.synchronize torch.xpu.synchronize"
        ),
    },
    "tdl900_unused_suppression": {
        "SEVERITY": "WARNING",
        "FACTS": "UnusedSuppression",
    },
    "tdl901_invalid_syntax": {
        "SEVERITY": "ERROR",
        "FACTS": "InvalidSyntax",
    },
    "tdl902_invalid_suppression": {
        "SEVERITY": "WARNING",
        "FACTS": "InvalidSuppression",
    },
    "tdl903_revealed_value": {
        "SEVERITY": "ADVICE",
        "FACTS": "RevealedValue",
    },
}
