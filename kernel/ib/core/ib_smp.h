/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Subnet management packets: offsets and numbers that the sources of the agent share. */
#ifndef SHCA_CORE_IB_SMP_H
#define SHCA_CORE_IB_SMP_H

/* The MAD (IBTA 14.2.1). */
#define MAD_BASE_VERSION	0
#define MAD_CLASS		1
#define MAD_CLASS_VERSION	2
#define MAD_METHOD		3
#define MAD_STATUS		4
#define MAD_TID			8
#define MAD_ATTR		16
#define MAD_ATTR_MOD		20
#define SMP_MKEY		24
#define SMP_DATA		64
#define SMP_DATA_BYTES		64
/* Of a directed-route SMP: hop count, source LID, return path. */
#define SMP_HOPS		7
#define SMP_SLID		32
#define SMP_RETURN		192

#define CLASS_LID_ROUTED	0x01
#define CLASS_DIRECTED		0x81
#define METHOD_GET		0x01
#define METHOD_SET		0x02
#define METHOD_RESPONSE		0x80
#define METHOD_TRAP		0x05
#define METHOD_TRAP_REPRESS	0x07
#define METHOD_REPORT		0x06
#define ATTR_NOTICE		0x0002
#define ATTR_NODE_DESC		0x0010
#define ATTR_NODE_INFO		0x0011
#define ATTR_GUID_INFO		0x0014
#define ATTR_PORT_INFO		0x0015
#define ATTR_PKEY_TABLE		0x0016
#define ATTR_SL_TO_VL		0x0017
#define ATTR_VL_ARB		0x0018
#define ATTR_SM_INFO		0x0020

/* Status of an answer (IBTA 13.4.7); STATUS_RETURNS: the direction of a directed SMP. */
#define STATUS_VERSION		0x0004
#define STATUS_METHOD		0x0008
#define STATUS_ATTR		0x000c
#define STATUS_FIELD		0x001c
#define STATUS_RETURNS		0x8000

/* The one port of a node. */
#define PORT			1

#endif
