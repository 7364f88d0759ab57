"""AITER's own file formats: kernel tables and code objects."""

from mlaprobe.kernels.csvtext import comment_rule
from mlaprobe.kernels.elf import has_kernel, lds_bytes
from mlaprobe.kernels.table import KernelTable, TableRow, read_tables

__all__ = ["KernelTable", "TableRow", "comment_rule", "has_kernel", "lds_bytes", "read_tables"]
