/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Events of neighbours that the RDMA core has missed.  See neigh_event.c. */
#ifndef SHCA_NEIGH_EVENT_H
#define SHCA_NEIGH_EVENT_H

/*
 * Let more events follow each update of a neighbour.
 *
 * Context: may sleep. Return: 0 or errno. Undone by shca_neigh_event_exit().
 */
int shca_neigh_event_init(void);
void shca_neigh_event_exit(void);

#endif
