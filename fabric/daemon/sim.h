/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The socket protocol of ibsim. Programs that are started with LD_PRELOAD=libumad2sim.so speak it
 * in place of the kernel's umad: so OpenSM and infiniband-diags run on this fabric unchanged.
 */
#ifndef SHCA_FABRIC_SIM_H
#define SHCA_FABRIC_SIM_H

#include "topology.h"

struct sim;

/*
 * Open the sockets.
 * @name:	as programs have it in IBSIM_SOCKNAME
 *
 * Return: NULL, with a message on stderr: another server has the name.
 */
struct sim *sim_open(struct topology *topo, const char *name);

/* Serve programs until SIGINT or SIGTERM. */
void sim_run(struct sim *sim);

void sim_close(struct sim *sim);

#endif
