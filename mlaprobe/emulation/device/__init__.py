"""C++ device code, run for all threads of a workgroup on concrete values.

The functions of a translation unit become closures (:mod:`expressions`, :mod:`statements`), and a
:class:`~mlaprobe.emulation.device.machine.Machine` runs them for all threads at once: a value is a
number that all threads share, or an array of one number each, and a mask says which threads take
part. Nothing here knows AITER. What has no rule ends the run with :class:`NotFollowed`.
"""
