/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* GIDs of devices on loopback netdevs, which the RDMA core does not follow */
#ifndef SHCA_LO_H
#define SHCA_LO_H

struct shca_dev;

/* Prepare a device before its registration. */
void shca_lo_init_dev(struct shca_dev *dev);
/* Undo it after unregistration; may sleep. */
void shca_lo_exit_dev(struct shca_dev *dev);

/* Follow the addresses of loopback netdevs. May sleep. Return: 0 or errno. */
int shca_lo_init(void);
void shca_lo_exit(void);

#endif
