#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""MPI_Allreduce() of several lengths, each element compared, by ctypes: the guest has
MPI's library, but neither its headers nor a compiler.  Run by mpirun; with the argument
"forever" it goes on until something ends it."""
import ctypes
import itertools
import sys

mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)


def handle(name):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))


WORLD, TYPE, SUM = map(handle, ("ompi_mpi_comm_world", "ompi_mpi_long_long_int", "ompi_mpi_op_sum"))
mpi.MPI_Init(None, None)
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
mpi.MPI_Comm_size(WORLD, ctypes.byref(size))
n = size.value
forever = sys.argv[1:] == ["forever"]
for count in itertools.repeat(1000) if forever else (1, 100, 4000, 100000):
    mine = (ctypes.c_longlong * count)(*(7 * i + 1000003 * rank.value for i in range(count)))
    got = (ctypes.c_longlong * count)()
    assert mpi.MPI_Allreduce(mine, got, count, TYPE, SUM, WORLD) == 0
    assert list(got) == [7 * i * n + 1000003 * (n * (n - 1) // 2) for i in range(count)], count
    if rank.value == 0:
        print("right:", count, "elements,", n, "ranks", flush=True)
mpi.MPI_Finalize()
