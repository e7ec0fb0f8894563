/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The socket protocol of ibsim. Programs that are started with LD_PRELOAD=libumad2sim.so speak it
 * in place of the kernel's umad: so OpenSM and infiniband-diags run on this fabric unchanged.
 */
#ifndef SHCA_FABRIC_SIM_H
#define SHCA_FABRIC_SIM_H

#include "loop.h"
#include "../topology/topology.h"

struct sim;

/*
 * Open the sockets.
 * @name:	as programs have it in IBSIM_SOCKNAME
 *
 * Return: NULL, with a message on stderr: another server has the name.
 */
struct sim *sim_open(struct topology *topo, const char *name, struct loop *loop);

/* A datagram from a real port is for a program at its @to. */
void sim_arrive(struct sim *sim, struct fab_mad *mad);

/* Traps leave that are due. Return: when to call it again; ~0: never. */
u64 sim_advance(struct sim *sim);

void sim_close(struct sim *sim);

#endif
