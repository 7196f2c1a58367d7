"""The version of this kit, for its manifest and for the header ``User-Agent``."""

__version__ = "0.1.0"
