// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// are the block iterators in rdma/iter.h (else: in ib_umem.h and ib_verbs.h)?
#include <rdma/iter.h>

bool probe(struct ib_block_iter *iter);
bool probe(struct ib_block_iter *iter)
{
	return __rdma_block_iter_next(iter);
}
