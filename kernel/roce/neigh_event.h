/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef SHCA_NEIGH_EVENT_H
#define SHCA_NEIGH_EVENT_H

/* Let events follow each update of a neighbour. May sleep. Return: 0 or errno. */
int shca_neigh_event_init(void);
void shca_neigh_event_exit(void);

#endif
