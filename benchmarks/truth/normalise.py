"""The message of an exception without what differs between releases and machines, for comparison only.

Records keep messages as they were. What is left out, and why it may be:

* of the same-device error all but the devices it names, as a set. It has two texts, which differ by release and
  not by what happened ("found at least two devices, cuda:0 and cpu!", "got mat1 is on cpu, different from other
  tensors on cuda:0"), and one that names the operator or its argument where the kernel is sparse;
* the lines of advice after a CUDA error, the link to its documentation, and the C++ places and traces ("Exception
  raised from ...", "at /pytorch/...:123"), since they follow the release and the build;
* the list of backends that have an operator, which is that of a build, and how much memory was asked for;
* of what a worker of a loader raised the traceback, which leads through files of torch;
* addresses, paths of files, and versions of CUDA and of torch.
"""

from __future__ import annotations

import re

_SAME_DEVICE = "Expected all tensors to be on the same device"
_DEVICE = re.compile(r"\b(?:cuda|xpu|mps)(?::\d+)?\b|\bcpu\b")
_METHOD = re.compile(r"\(when checking argument.*?\)", re.DOTALL)
_ADVICE = re.compile(
    r"^(?:CUDA kernel errors might|For debugging consider|Compile with|Device-side assertions? were|"
    r"Search for `?cuda|For more detailed error|Exception raised from|C\+\+ CapturedTraceback|frame #\d+|"
    r"HIP kernel errors might).*$",
    re.MULTILINE,
)
_FRAMES = re.compile(r"^[ \t]+.*\n", re.MULTILINE)
_PLACES = (
    (re.compile(r"\s*'[\w:.]+' is only available for these backends: .*", re.DOTALL), ""),
    (re.compile(r"at \"[^\"]*?([\w.]+)\":\d+"), r"at \1"),
    (re.compile(r"(Tried to allocate) .*", re.DOTALL), r"\1"),
    (re.compile(r"\s*\(?at [\"']?(?:/|\.\./)[^\s\"']+:\d+[\"']?\)?"), ""),
    (re.compile(r"\s*in [\"'](?:/|\.\./)[^\"']+[\"']"), ""),
    (re.compile(r"0x[0-9a-fA-F]+"), "0x"),
    (re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+[\w.+-]+"), "<path>"),
    (re.compile(r"\b\d+\.\d+(?:\.\d+)?(?:\+\w+)?\b"), "<version>"),
)


def normalise(message: str) -> str:
    """`message` as it is compared."""
    if _SAME_DEVICE in message:
        named = sorted(set(_DEVICE.findall(_METHOD.sub("", message))))
        return f"{_SAME_DEVICE}: {', '.join(named)}"
    if "Original Traceback" in message:
        message = _FRAMES.sub("", message)
    message = _ADVICE.sub("", message)
    for pattern, replacement in _PLACES:
        message = pattern.sub(replacement, message)
    return " ".join(message.split())
