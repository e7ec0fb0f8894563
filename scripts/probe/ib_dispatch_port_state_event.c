// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// does the core dispatch port events (and deduplicate them)?
#include <rdma/ib_verbs.h>

void *probe(void);
void *probe(void)
{
	return ib_dispatch_port_state_event;
}
