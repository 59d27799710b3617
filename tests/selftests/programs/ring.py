# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Messages of several lengths go around a ring of MPI's processes, and are compared."""
from mpi4py import MPI

ring = MPI.COMM_WORLD
right, left = (ring.rank + 1) % ring.size, (ring.rank - 1) % ring.size


def message(rank, length):
    """What that process sends."""
    pattern = bytes((rank * 7 + i) % 251 for i in range(251))
    return (pattern * (length // 251 + 1))[:length]


for length in 1, 1000, 70000, 1 << 20:
    for _ in range(5):
        received = bytearray(length)
        ring.Sendrecv(message(ring.rank, length), right, 0, received, left, 0)
        assert received == message(left, length), length
print(f"{ring.rank} of {ring.size}, at {MPI.Get_processor_name()}: all messages are right")
