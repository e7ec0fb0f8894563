/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes bytes of a message to memory that a program may poll, for all paths */
#ifndef SHCA_PLACE_H
#define SHCA_PLACE_H

#include "../core/os.h"

/*
 * How many of the @len bytes before @end are one store, as large as fits and is aligned? A
 * program that polls the last byte, or an aligned word there, never sees part of it.
 */
static inline u32 shca_place_last(uintptr_t end, u32 len)
{
	if (likely(len >= sizeof(u64) && !(end % sizeof(u64))))
		return sizeof(u64);
	if (len >= sizeof(u32) && !(end % sizeof(u32)))
		return sizeof(u32);
	return len >= sizeof(u16) && !(end % sizeof(u16)) ? sizeof(u16) : sizeof(u8);
}

/*
 * Programs poll the end of a message, or a flag that the next message writes, and then read
 * the rest. IBTA o9-20 does not promise this order, yet adapters have it. Neither memcpy()
 * nor a weakly ordered CPU does.
 *
 * Both barriers pair with the acquire of the program that polls. The first one is before the
 * end (litmus: write-poll). The second one is before whatever is placed next
 * (litmus: write-next). Where that is on another CPU, the lock of the receiving side is
 * between them (litmus: write-handover).
 */
#define SHCA_PLACE_LAST(type, dst, read, from)				\
	do {								\
		type last_;						\
									\
		read(from, &last_, sizeof(last_));			\
		smp_wmb();	/* the rest before the end */		\
		WRITE_ONCE(*(type *)(dst), last_);			\
		smp_wmb();	/* the end before the next message */	\
	} while (0)

/*
 * Place the end of a message, or of a packet, at @dst, where it is contiguous.
 * @len:	not 0
 * @read:	copies the next bytes of @from; called twice at most. Inlined, so that it is
 *		no indirect call
 */
static inline void
shca_place(void *dst, u32 len, void (*read)(void *from, void *dst, u32 len),
	   void *from)
{
	u32 last = shca_place_last((uintptr_t)dst + len, len);

	if (len > last)
		read(from, dst, len - last);
	dst = (u8 *)dst + (len - last);
	switch (last) {
	case sizeof(u64):
		SHCA_PLACE_LAST(u64, dst, read, from);
		break;
	case sizeof(u32):
		SHCA_PLACE_LAST(u32, dst, read, from);
		break;
	case sizeof(u16):
		SHCA_PLACE_LAST(u16, dst, read, from);
		break;
	default:
		SHCA_PLACE_LAST(u8, dst, read, from);
	}
}

#endif
