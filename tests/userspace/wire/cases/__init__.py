# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The cases: functions of a target.Rig, each with its name and its rule.

A case returns if the device obeys the rule; otherwise it raises target.Wrong with
the difference. A name begins with the area:

  pkt    what is common to all packets: validation, ICRC, fields sent
  resp   the responder of RC            req   the requester of RC
  uc     the unreliable connection      ud    datagrams
  batch  what arrives as one super-packet
"""


class Case:
    def __init__(self, name, rule, run, long):
        self.name, self.rule, self.run, self.long = name, rule, run, long


ALL = []


def case(name, rule, table=None, long=False):
    """Registers a case; one for each row of @table, {suffix: argument}."""
    def register(function):
        if table is None:
            ALL.append(Case(name, rule, function, long))
        else:
            for suffix, row in table.items():
                ALL.append(Case(f"{name}.{suffix}", rule,
                                lambda rig, row=row: function(rig, row), long))
        return function
    return register


from . import (packets, responder, matrix, requester,  # noqa: E402,F401
               unreliable, paths, batches, later, credits)
