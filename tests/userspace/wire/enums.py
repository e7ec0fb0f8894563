# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The verbs' constants by their C names, in all versions of pyverbs.

Up to rdma-core 56 they are names in pyverbs.enums. Later they are members of one
Enum class per C enum.
"""
try:
    from pyverbs.enums import *  # noqa: F401,F403
except ImportError:
    import enum
    import pyverbs.libibverbs_enums as _classes
    for _class in vars(_classes).values():
        if isinstance(_class, type) and issubclass(_class, enum.Enum):
            globals().update((_name, _member.value) for _name, _member
                             in _class.__members__.items())
