// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// are a mapping's flags set through vm_flags_set()?
#include <linux/mm.h>

void probe(struct vm_area_struct *vma);
void probe(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTEXPAND);
}
