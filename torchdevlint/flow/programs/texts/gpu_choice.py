"""What the texts of programs say of where they run: a choice of the device, a GPU by its number, several processes.

Words decide here, which they may since what they lead to is silence: a program that says nothing but CUDA runs on the
current GPU, wherever its files were written and whatever tensors it is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache

from torchdevlint.patterns import regex

_COMMENT = regex(r"#[^\n'\"]*$", re.MULTILINE)
_CHOOSES_NOTHING = regex(
    r"['\"]cuda['\"]\s*\)?\s*if\s+[\w.]+\.is_cuda\s+else\s+(?:torch\.device\(\s*)?['\"]cpu['\"]"
    r"|\.to\(\s*(?:device\s*=\s*)?(?:torch\.device\(\s*)?['\"]cpu['\"]"
    r"|map_location\s*=\s*(?:torch\.device\(\s*)?['\"]cpu['\"]"
    r"|\baccelerator\s*=\s*['\"](?:gpu|cuda)['\"]"
    r"|(?:print|assert|log\w*|info|debug)\b[^\n]*is_available"
    r"|[(,]\s*device\s*(?::[^=,()]*)?=\s*(?:torch\.device\(\s*)?['\"]cpu['\"]"
    r"|(?<=\.cpu\(\)\.state_dict\(\))([^\n]*\n\s*)if\b[^\n]*is_available\(\)\s*:\s*[\w.]+\.cuda\("
)
"""What follows a tensor, brings results back, reads files, makes tensors for the host, tells people, trains on GPUs,
goes back to CUDA after a model was saved from the CPU, or is a default: programs for CUDA do so too."""
_OPTIONS = (
    r"\b(?:args?|opts?|options?|cfg|config|conf|FLAGS|params|hparams|settings)(?:\.\w+)*\.device\b|['\"]device['\"]\s*[\]),]"
    r"|['\"]-{1,2}(?![\w-]*per[_-]device)(?!U_)[\w-]*(?:device|cuda|cpu)[\w-]*['\"]"
    r"|['\"]-{1,2}[\w-]*gpu[\w-]*['\"][^()]*store_(?:true|false)|--\w*tpu\b"
)
_OFFERS = regex(_OPTIONS, re.IGNORECASE | re.MULTILINE)
"""Options and keys of configurations, by which whoever starts a program chooses a device."""
_CHOOSES = regex(
    r"is_available|device_type|\baccelerator\b|\b(?:import|from)\s+accelerate\b|['\"]cpu['\"]"
    r"|['\"](?:mps|xpu|npu|xla|hpu|tpu)\b|torch[._](?:mps|xpu|npu|xla|hpu)\b|\bbackends\.mps\b"
    r"|\b(?:no|use|with|has|on)_?(?:cuda|gpu)s?\b|^\s*(?:\w+\.)?(?:cuda|gpu)\s*=\s*(?:True|False)\b"
    r"|\b(?:if|and|or|not)\s+(?:\w+\.)*(?:cuda|gpu)s?(?:\(\))?(?:\s*:|\s+(?:and|or|is|else)\b)"
    r"|gpu\w*\s*(?:>\s*(?:0|-1)|>=\s*[01]|<\s*[01]|[!=]=\s*(?:0|-1))\b"
    rf"|{_OPTIONS}",
    re.IGNORECASE | re.MULTILINE,
)
"""Questions for an accelerator, other devices by name, and switches and options that say whether there is one."""
_SETTLED = regex(
    r"^[ \t]*((?:\w+\.)+device)[ \t]*=[ \t]*(?:torch\.device\([ \t]*)?['\"]cuda(?::0)?['\"][ \t]*\)?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""``opt.device = torch.device("cuda")``: where it is set nowhere else, the option leaves no choice."""
_CLASS = regex(r"^class[ \t]+(\w+)[^\n]*:[ \t]*\n((?:[ \t]+\S[^\n]*\n|[ \t]*\n)+)", re.MULTILINE)
_CONSTANT = regex(
    r"^[ \t]+(\w*device\w*)[ \t]*=[ \t]*(?:torch\.device\([ \t]*)?['\"]cuda(?::\d+)?['\"][ \t]*\)?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""``class CFG: DEVICE = "cuda:1"``: what such a class says is no choice."""
_SWITCHED_ON = regex(r"[{,]\s*['\"](\w*(?:cuda|gpu)\w*)['\"]\s*:\s*True\s*[,}]", re.IGNORECASE)
"""``{"use_cuda": True}``: an entry of what is written down."""
_AVAILABLE = regex(
    r"(?:torch\.device\(\s*)?['\"]cuda(?::0)?['\"]\s*\)?\s*if\s+torch\.cuda\.is_available\(\)\s+else\s+"
    r"(?:torch\.device\(\s*)?['\"]cpu['\"]"
    r"|\bif\b[\s(]*(?:not\s+)?torch\.cuda\.is_available\(\)[\s)]*:"
)
"""Questions whose answer is the device: CUDA wherever there is any."""
_MOVES_IF_AVAILABLE = regex(r"\bif\s+torch\.cuda\.is_available\(\)\s*:\s*[\w.]+\s*=\s*[^\n]*\.cuda\([^\n]*")
"""What a library does so that its programs need not: those that have sent their models to CUDA have chosen."""
_NUMBERS = regex(
    r"['\"]cuda:(?!0\b)|['\"]cuda:0?['\"]\s*[+%]|\.cuda\(\s*(?!\)|0\s*[,)]|non_blocking|async|device\s*=\s*0|[\w.]+\.(?:get_device\(|device\b))"
    r"|device_ids(?!\s*=\s*(?:None\b|\[\s*0\b|(?:list\(\s*)?range\((?:\s*0\s*,|[^,()]*(?:\([^,()]*\))?\s*\))))"
    r"|torch\.device\(\s*['\"]cuda['\"]\s*,\s*(?!0)|['\"]-{1,2}(?![\w-]*per[_-]device)[\w-]*device[\w-]*['\"]"
)
"""GPUs by numbers, or told from outside. `DataParallel` over the first ones gives its results to the current one."""
_SETS_CURRENT = regex(r"\bcuda\.(?:set_device|device)\(")
_PROCESSES = regex(r"local_?rank|get_rank|init_process_group|DistributedDataParallel|mp\.spawn", re.IGNORECASE)
_CUDA = regex(r"\.cuda\(|['\"]cuda(?::0)?['\"]")

_WORDS = (
    "cuda gpu cpu device accelerat available mps xpu npu xla hpu tpu rank process_group spawn distributeddataparallel"
).split()
"""What is looked for holds one of these, in small letters."""


class GpuChoice:
    """What one file, or several together, say. Each question goes through their texts as far as it must."""

    def __init__(self, *said: Said) -> None:
        self._said = said

    def __or__(self, other: GpuChoice) -> GpuChoice:
        return GpuChoice(*self._said, *other._said)

    @cached_property
    def chooses(self) -> bool:
        """Whether there is a choice among devices: by a question, a switch or an option."""
        return any(each.chooses for each in self._said)

    @cached_property
    def by_option(self) -> bool:
        """Whether it chooses, and not by whether there is CUDA alone."""
        return any(each.by_option for each in self._said)

    @cached_property
    def offers(self) -> bool:
        """Whether who starts it chooses: by an option, or in a configuration."""
        return any(each.offers for each in self._said)

    @cached_property
    def processes(self) -> bool:
        """Whether there are several processes."""
        return any(each.processes for each in self._said)

    @cached_property
    def cuda(self) -> bool:
        """Whether something is sent to CUDA by name."""
        return any(each.cuda for each in self._said)

    @cached_property
    def is_current_gpu(self) -> bool:
        """Whether CUDA, wherever there is any, means the GPU that all is on.

        A GPU may be named by a number that is not 0, or not known; then some GPU has to be made the current one.
        """
        return not any(each.numbers for each in self._said) or any(each.sets_current for each in self._said)

    @property
    def takes_current_gpu(self) -> bool:
        """Whether all is on the current GPU wherever there is one."""
        return not self.by_option and self.is_current_gpu

    @property
    def needs_current_gpu(self) -> bool:
        """Whether nothing runs without CUDA, and all is on one GPU."""
        return self.cuda and not self.chooses and self.is_current_gpu


class Said:
    """What one text says."""

    def __init__(self, text: str, sends: bool = True) -> None:
        self._text = text
        self._sends = sends

    @cached_property
    def _told(self) -> str:
        text = _COMMENT.sub("", self._text)
        told = _of_interest(text)
        if _CONSTANT.search(told) is not None:
            told = _of_interest(_without_constants(text))
        return _without_settled(_CHOOSES_NOTHING.sub("", told))

    @cached_property
    def chooses(self) -> bool:
        return _CHOOSES.search(self._told) is not None

    @cached_property
    def by_option(self) -> bool:
        return self.chooses and _CHOOSES.search(_AVAILABLE.sub("", self._told)) is not None

    @cached_property
    def offers(self) -> bool:
        return _OFFERS.search(self._told) is not None

    @cached_property
    def numbers(self) -> bool:
        return _NUMBERS.search(self._told) is not None

    @cached_property
    def sets_current(self) -> bool:
        return _SETS_CURRENT.search(self._told) is not None

    @cached_property
    def processes(self) -> bool:
        return _PROCESSES.search(self._told) is not None

    @cached_property
    def cuda(self) -> bool:
        return self._sends and _CUDA.search(self._told) is not None


UNKNOWN = GpuChoice(Said('add_argument("--device", default="cuda:1")'))
"""Of files that are not read: whoever starts them chooses among all devices."""


def gpu_choice(texts: Iterable[str]) -> GpuChoice:
    """What the texts of programs say together, and those of what leads from them to a place."""
    return GpuChoice(*map(_said_in, texts))


def offered_choice(texts: Iterable[str]) -> GpuChoice:
    """What the texts of files that programs import say together: it is the programs that send something to CUDA."""
    return GpuChoice(*map(_offered_in, texts))


def switched_on(texts: Iterable[str]) -> frozenset[str]:
    """The names of switches that texts have as an entry which is on, and no one of them sets otherwise, or asks for."""
    together = "\n".join(_COMMENT.sub("", each) for each in texts)
    names = set(_SWITCHED_ON.findall(together))
    return frozenset(each for each in names if not _is_set_otherwise(together, re.escape(each)))


def _is_set_otherwise(text: str, name: str) -> bool:
    """Whether a name, or an entry of that name, is bound to anything but True, or is an option of a command line."""
    bound = rf"\b{name}['\"]?\s*(?:\]\s*)?(?::=|=(?!=)|:(?![ \t]*\n))(?!\s*True\s*[,}}])"
    return re.search(rf"{bound}|-{name}\b|\b{name}['\"]\s*,", text) is not None


def without_switches(text: str, names: Iterable[str]) -> str:
    """A text without what reads switches that are on."""
    for each in sorted(names):
        text = re.sub(rf"\b{re.escape(each)}\b", "_", text)
    return text


@lru_cache(maxsize=512)
def _said_in(text: str) -> Said:
    return Said(text)


@lru_cache(maxsize=512)
def _offered_in(text: str) -> Said:
    return Said(_MOVES_IF_AVAILABLE.sub("", text) if "is_available" in text else text, sends=False)


def _of_interest(text: str) -> str:
    """The lines with a word of what is looked for, and those beside them; a line of dots stands for what is left out.

    Words are found a hundred times faster than patterns, and most lines have none.
    """
    lower, lines = text.lower(), set[int]()
    for word in _WORDS:
        line = at = 0
        while (found := lower.find(word, at)) >= 0:
            line += lower.count("\n", at, found)
            lines.update((line - 1, line, line + 1))
            at = found + len(word)
    kept: list[str] = []
    end = 0
    for number, line_text in enumerate(text.split("\n")):
        if number in lines:
            kept += ["...", line_text] if number > end else [line_text]
            end = number + 1
    return "\n".join(kept)


def _without_constants(text: str) -> str:
    """A text without reads of what a class of constants sets to CUDA, and nothing sets otherwise."""
    for found in _CLASS.finditer(text):
        for name in _CONSTANT.findall(found[2]):
            path = rf"\b{re.escape(found[1])}\.{re.escape(name)}\b"
            if re.search(rf"{path}\s*=(?!=)", text) is None:
                text = re.sub(path, "", text)
    return text


def _without_settled(text: str) -> str:
    """A text without the options for a device that it sets to CUDA, and to nothing else."""
    for path in sorted(set(_SETTLED.findall(text))):
        read = re.escape(path)
        if len(re.findall(rf"\b{read}\s*=(?!=)", text)) == _SETTLED.findall(text).count(path):
            text = re.sub(rf"\b{read}\b", "", text)
    return text
