#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A sum of arrays by MPI_Allreduce(), and by the switches of softhca-fabric, compared bit by bit.
All values are whole numbers, of which floating-point sums are exact, so any order gives the same
bits. Run by mpirun; by ctypes alone, so it needs neither headers nor a compiler.

    mpi-reduce.py LIBRARY NODE DEVICES [COUNT [ROUNDS [mpi|network]]]

LIBRARY is libsofthca-reduce.so, NODE the LID of an aggregation node, DEVICES the RDMA device of each
rank, with commas between them. With "mpi" or "network" only one of the two runs."""
import ctypes
import os
import sys

I32, I64, F32, F64 = 1, 2, 3, 4
SUM = 1

mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)


def handle(name):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))


class Attr(ctypes.Structure):
    """struct softhca_reduce_attr"""
    _fields_ = [("key", ctypes.c_uint64), ("node", ctypes.c_uint16), ("rank", ctypes.c_uint16), ("size", ctypes.c_uint16),
                ("pkey_index", ctypes.c_uint16), ("port", ctypes.c_uint8), ("sl", ctypes.c_uint8), ("timeout_ms", ctypes.c_uint32)]


WORLD, BYTE, MPI_SUM = map(handle, ("ompi_mpi_comm_world", "ompi_mpi_byte", "ompi_mpi_op_sum"))
KINDS = ((I32, ctypes.c_int32, "ompi_mpi_int"), (I64, ctypes.c_int64, "ompi_mpi_long_long_int"),
         (F32, ctypes.c_float, "ompi_mpi_float"), (F64, ctypes.c_double, "ompi_mpi_double"))

library, node, devices = sys.argv[1:4]
count = int(sys.argv[4]) if len(sys.argv) > 4 else 0
rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 1
only = sys.argv[6] if len(sys.argv) > 6 else ""

mpi.MPI_Init(None, None)
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank))
mpi.MPI_Comm_size(WORLD, ctypes.byref(size))

job = None
if only != "mpi":
    lib = ctypes.CDLL(library, use_errno=True)
    lib.softhca_reduce_open.restype = ctypes.c_void_p
    lib.softhca_reduce_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(Attr)]
    lib.softhca_reduce_all.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_size_t, ctypes.c_int, ctypes.c_int]
    lib.softhca_reduce_close.argtypes = [ctypes.c_void_p]
    # MPI is how the members agree on the key.
    key = ctypes.create_string_buffer(os.urandom(8), 8)
    assert mpi.MPI_Bcast(key, 8, BYTE, 0, WORLD) == 0
    attr = Attr(key=int.from_bytes(key.raw, "big"), node=int(node), rank=rank.value, size=size.value)
    job = lib.softhca_reduce_open(devices.split(",")[rank.value].encode(), ctypes.byref(attr))
    assert job, f"rank {rank.value} joins: {os.strerror(ctypes.get_errno())}"

for n in (count,) if count else (1, 1000, 100000):
    for number, kind, name in KINDS if not count else KINDS[2:3]:
        mine = (kind * n)(*((7 * i + 1003 * rank.value) % 65536 for i in range(n)))
        results = []
        for _ in range(rounds):
            if only != "network":
                results.append((kind * n)())
                assert mpi.MPI_Allreduce(mine, results[-1], n, handle(name), MPI_SUM, WORLD) == 0
            if job:
                results.append((kind * n)())
                error = lib.softhca_reduce_all(job, mine, results[-1], n, number, SUM)
                assert not error, f"rank {rank.value}: {os.strerror(error)}"
        wanted = bytes((kind * n)(*(sum((7 * i + 1003 * r) % 65536 for r in range(size.value)) for i in range(n))))
        assert all(bytes(result) == wanted for result in results), f"rank {rank.value}: {n} of {name}"
    if rank.value == 0:
        print("equal:", n, "elements,", size.value, "ranks", flush=True)
if job:
    lib.softhca_reduce_close(job)
mpi.MPI_Finalize()
