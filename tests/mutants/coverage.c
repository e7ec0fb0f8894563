// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which places of softhca.ko run: the other side of a module that is compiled with
 * -fsanitize-coverage=trace-pc. The compiler lets each basic block call the function
 * below. It sets a byte of the map that /sys/kernel/debug/softhca_coverage shows;
 * a write there clears the map. The byte's number is the return address less the
 * beginning of the module's code. tests/mutants/guest reads it after each test.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/vmalloc.h>

#define SIZE (4UL << 20)

static u8 *map;
static unsigned long begin;
static struct dentry *file;

void __sanitizer_cov_trace_pc(void);

notrace void __sanitizer_cov_trace_pc(void)
{
	unsigned long at = (unsigned long)__builtin_return_address(0) - READ_ONCE(begin);

	/* Code for the beginning and the end of a module lies elsewhere. */
	if (at < SIZE && !map[at])
		map[at] = 1;
}
EXPORT_SYMBOL_GPL(__sanitizer_cov_trace_pc);

static int on_module(struct notifier_block *self, unsigned long event, void *data)
{
	struct module *mod = data;

	if (event == MODULE_STATE_COMING && !strcmp(mod->name, "softhca"))
		WRITE_ONCE(begin, (unsigned long)mod->mem[MOD_TEXT].base);
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = on_module };

static ssize_t map_read(struct file *filp, char __user *to, size_t count, loff_t *at)
{
	return simple_read_from_buffer(to, count, at, map, SIZE);
}

static ssize_t map_write(struct file *filp, const char __user *from, size_t count, loff_t *at)
{
	memset(map, 0, SIZE);
	return count;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.read = map_read,
	.write = map_write,
	.llseek = default_llseek,
};

static int __init coverage_init(void)
{
	int err;

	map = vzalloc(SIZE);
	if (!map)
		return -ENOMEM;
	err = register_module_notifier(&notifier);
	if (err) {
		vfree(map);
		return err;
	}
	file = debugfs_create_file("softhca_coverage", 0600, NULL, NULL, &fops);
	return 0;
}
module_init(coverage_init);

static void __exit coverage_exit(void)
{
	debugfs_remove(file);
	unregister_module_notifier(&notifier);
	vfree(map);
}
module_exit(coverage_exit);

MODULE_DESCRIPTION("Tells which places of softhca run");
MODULE_LICENSE("Dual BSD/GPL");
