// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Mends what QEMU's emulation of several CPUs breaks where the kernel patches its code
 * (static keys: trace events, fault rules, netfilter hooks).
 *
 * The kernel puts an int3 over the first byte of an instruction, then changes the others,
 * then the first. QEMU (7.2 as well as 10.0) throws away what it has translated of a byte
 * just before the byte is stored. A CPU that runs there in between has the old byte
 * translated again. It executes an int3 which is in memory no more, of which the kernel's
 * handler no longer knows: an oops. With traffic on one CPU, and trace events that come and
 * go on the other one, that happens within seconds.
 *
 * So where an int3 was executed and memory has another instruction by now, that one is
 * done. The byte is stored once more with the value that it has, for then QEMU throws its
 * translation away. Loaded by scripts/qemu/guest-init in emulated guests. An int3 that is
 * in memory remains an oops. (Not on Linux 6.1: its kprobes have such an int3 executed
 * again, for ever, before anybody else hears of it.)
 */
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <asm/text-patching.h>

static const u8 nop2[] = { 0x66, 0x90 };
static const u8 nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

/* Where an int3 was executed that is not there: the last such place, 0 once it is mended. */
static unsigned long stale;

/* The last such place of all, until it is patched once more. */
static unsigned long last;

static atomic_t mended;

static struct page *page_of(unsigned long at)
{
	if (at >= MODULES_VADDR && at < MODULES_END)
		return vmalloc_to_page((void *)at);
	return virt_addr_valid(at) ? virt_to_page((void *)at) : NULL;
}

static void mend(struct work_struct *work)
{
	unsigned long at = xchg(&stale, 0);
	struct page *page = at ? page_of(at) : NULL;
	u8 *alias, *byte;

	if (!page)
		return;
	/* (the kernel's own mapping of it is read-only) */
	alias = vmap(&page, 1, VM_MAP, PAGE_KERNEL);
	if (!alias)
		return;
	byte = alias + offset_in_page(at);
	/* Atomic, for somebody may be patching it again: what is there stays there. */
	atomic_or(0, (atomic_t *)PTR_ALIGN_DOWN(byte, sizeof(atomic_t)));
	vunmap(alias);
	pr_info("softhca_emulator: %d: an int3 at %pS was patched away before it was executed\n",
		atomic_inc_return(&mended), (void *)at);
}
static DECLARE_WORK(mend_work, mend);

static void begin_to_mend(struct irq_work *work)
{
	schedule_work(&mend_work);
}
static DEFINE_IRQ_WORK(mend_soon, begin_to_mend);

/*
 * In the exception, which may come where an NMI may: no locks, and nothing that is patched
 * itself.
 */
static notrace int on_die(struct notifier_block *block, unsigned long event, void *data)
{
	struct die_args *args = data;
	struct pt_regs *regs = args->regs;
	unsigned long at = regs->ip - INT3_INSN_SIZE, next;
	u8 insn[JMP32_INSN_SIZE];
	s32 offset;

	if (event != DIE_INT3 || user_mode(regs) ||
	    copy_from_kernel_nofault(insn, (void *)at, sizeof(insn)))
		return NOTIFY_DONE;
	memcpy(&offset, insn + 1, sizeof(offset));
	next = at + JMP32_INSN_SIZE;
	switch (insn[0]) {
	case JMP32_INSN_OPCODE:
		int3_emulate_jmp(regs, next + offset);
		break;
	case JMP8_INSN_OPCODE:
		int3_emulate_jmp(regs, at + JMP8_INSN_SIZE + (s8)insn[1]);
		break;
	case CALL_INSN_OPCODE:
		int3_emulate_push(regs, next);
		int3_emulate_jmp(regs, next + offset);
		break;
	case INT3_INSN_OPCODE:
		/* It is being patched again: the kernel knows of that when it comes here again. */
		if (cmpxchg(&last, at, 0) != at)
			return NOTIFY_DONE;
		int3_emulate_jmp(regs, at);
		return NOTIFY_STOP;
	default:
		if (!memcmp(insn, nop5, sizeof(nop5)))
			int3_emulate_jmp(regs, next);
		else if (!memcmp(insn, nop2, sizeof(nop2)))
			int3_emulate_jmp(regs, at + sizeof(nop2));
		else
			return NOTIFY_DONE;
	}
	WRITE_ONCE(last, at);
	if (!xchg(&stale, at))
		irq_work_queue(&mend_soon);
	return NOTIFY_STOP;
}
NOKPROBE_SYMBOL(on_die);

static struct notifier_block block = { .notifier_call = on_die };

static int __init emulator_init(void)
{
	return register_die_notifier(&block);
}

static void __exit emulator_exit(void)
{
	unregister_die_notifier(&block);
	irq_work_sync(&mend_soon);
	cancel_work_sync(&mend_work);
}

module_init(emulator_init);
module_exit(emulator_exit);

MODULE_AUTHOR("The softhca developers");
MODULE_DESCRIPTION("Mends code that an emulator of several CPUs translated too early");
MODULE_LICENSE("Dual BSD/GPL");
