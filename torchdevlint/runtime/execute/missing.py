"""What helps where an import finds no module: the distribution that has it, by its name on the package index."""

from __future__ import annotations

_DISTRIBUTIONS = {
    "attr": "attrs", "Bio": "biopython", "bs4": "beautifulsoup4", "Crypto": "pycryptodome", "cv2": "opencv-python",
    "dateutil": "python-dateutil", "docx": "python-docx", "dotenv": "python-dotenv", "faiss": "faiss-cpu",
    "fitz": "pymupdf", "git": "gitpython", "google.protobuf": "protobuf", "hydra": "hydra-core",
    "igraph": "python-igraph", "jose": "python-jose", "jwt": "pyjwt", "magic": "python-magic",
    "mpl_toolkits": "matplotlib", "nacl": "pynacl", "OpenSSL": "pyopenssl", "PIL": "pillow",
    "pkg_resources": "setuptools<81", "pl_bolts": "lightning-bolts", "serial": "pyserial", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "slugify": "python-slugify", "torchcrf": "pytorch-crf", "umap": "umap-learn",
    "wx": "wxpython", "yaml": "pyyaml", "zmq": "pyzmq",
}  # fmt: skip
"""Those whose distribution has another name than the module."""
_SHARED = frozenset({"google", "azure", "zope"})
"""Packages that many distributions share."""
_OF_A_PROJECT = frozenset(
    "src utils util models model data dataset datasets config configs common core lib libs modules tools helpers losses"
    " layers networks trainer training options metrics scripts test tests".split()
)
"""Names that projects give their own modules; what the package index has by them is something else."""


def advice(module: str) -> str:
    """What to do about a module that is not there, as ``pip install NAME`` wherever that is it."""
    root = module.partition(".")[0]
    for known in (module, ".".join(module.split(".")[:2]), root):
        if known in _DISTRIBUTIONS:
            return f"pip install {_DISTRIBUTIONS[known]}"
    if root in _OF_A_PROJECT:
        return f"if `{root}` is the project's own, put its folder on PYTHONPATH"
    return f"pip install {module.replace('.', '-') if root in _SHARED else root}"
