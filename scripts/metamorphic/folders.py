"""Changes that make several files of a program, or a notebook."""

from __future__ import annotations

import ast
import itertools
import json

from metamorphic.editing import CHOSEN, FunctionNode, called, is_head, main_of, named, with_torch

NOTEBOOK = "program.ipynb"
OTHERS = {
    "count_words.py": "import sys\n\nfor line in sys.stdin:\n    print(len(line.split()))\n",
    "plot.py": "import matplotlib.pyplot as plt\nimport numpy as np\n\nplt.plot(np.arange(3))\nplt.savefig('a.png')\n",
    "fit.py": (
        "import torch\nfrom torch import nn\n\nnet = nn.Linear(3, 1)\nfor _ in range(9):\n"
        "    net(torch.randn(2, 3)).sum().backward()\nprint('done')\n"
    ),
    "chosen.py": (
        "import torch\n\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "net = torch.nn.Linear(3, 1).to(device)\nprint(net(torch.randn(2, 3, device=device)))\n"
    ),
    "of_cuda.py": "import torch\n\nnet = torch.nn.Linear(3, 1).cuda()\nprint(net(torch.randn(2, 3).cuda()))\n",
}
"""Scripts that lie beside a program and have nothing to do with it."""


def cell_by_cell(text: str) -> dict[str, str] | None:
    """A notebook of a cell for each statement; the last one calls `main`."""
    tree = ast.parse(text)
    if not main_of(tree) or named(tree, "__name__"):
        return None
    lines = text.splitlines()
    starts = [min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", []))]) for n in tree.body][1:]
    borders = [1, *starts, len(lines) + 1]
    sources = ["\n".join(lines[a - 1 : b - 1]) for a, b in itertools.pairwise(borders) if a < b]
    sources.append(f"import torch\nmain({CHOSEN})")
    kinds = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**kinds, "source": source.splitlines(keepends=True)} for source in sources]
    return {NOTEBOOK: json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})}


def split(text: str) -> dict[str, str] | None:
    """What `main` uses is in a file of its own, from which the program imports it."""
    tree = ast.parse(text)
    main = main_of(tree)
    if main is None or len(tree.body) < 2 or main is not tree.body[-1] or named(tree, "__name__"):
        return None
    if any(isinstance(node, ast.Assign | ast.AugAssign | ast.If | ast.Try | ast.For | ast.With) for node in tree.body):
        return None
    lines = text.splitlines()
    helpers = [n.name for n in tree.body[:-1] if isinstance(n, FunctionNode | ast.ClassDef)]
    first = next((n for n in tree.body if not is_head(n)), main)
    if not helpers or not all(is_head(n) or isinstance(n, FunctionNode | ast.ClassDef) for n in tree.body):
        return None
    at = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))]) - 1
    head = [line for line in lines[:at] if "# want" not in line]
    bodies = with_torch("\n".join([*head, f"from helpers import {', '.join(helpers)}", "", *lines[main.lineno - 1 :]]))
    return {
        "helpers.py": "\n".join(lines[: main.lineno - 1]) + "\n",
        "train.py": f'{bodies}\n\nif __name__ == "__main__":\n    main({CHOSEN})\n',
    }


def beside_others(text: str) -> dict[str, str] | None:
    """The program that calls `main` lies in a folder with scripts that have nothing to do with it."""
    program = called(text)
    return None if program is None else {"program.py": program, **OTHERS}


def beside_its_like(text: str) -> dict[str, str] | None:
    """The same, with a README and requirements, which make the folder a project."""
    files = beside_others(text)
    return None if files is None else {**files, "README.md": "# Runs\n", "requirements.txt": "torch\n"}
