"""AITER's own file formats: kernel tables and code objects."""

from mlaprobe.kernels.csvtext import comment_rule
from mlaprobe.kernels.elf import has_kernel
from mlaprobe.kernels.table import KernelTable, TableRow, read_tables

__all__ = ["KernelTable", "TableRow", "comment_rule", "has_kernel", "read_tables"]
