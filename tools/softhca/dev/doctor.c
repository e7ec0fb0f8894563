// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca doctor`: what keeps programs from using a device here, each with the
 * command that cures it. It looks from where programs stand: it asks libibverbs
 * for the device, and sends a packet to its UDP port.
 */
#include "../netns.h"
#include "../rtnl.h"
#include "../softhca.h"
#include "obstacle.h"
#include "version.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <net/if.h>

#define ROCE_PORT	4791
/* A smaller network device carries no packet of 256 bytes with its headers. */
#define MIN_MTU		352
#define MIN_IB_MTU	390
/* Below this limit of locked memory, ordinary programs fail. */
#define MIN_MEMLOCK	(1 << 20)
#define DRIVER_FILE	"/etc/libibverbs.d/softhca.driver"
#define MAX_DEVICES	64

/* a device of this network namespace */
struct patient {
	char name[64];
	char netdev[IFNAMSIZ];
};

static struct patient patients[MAX_DEVICES];
static int nr_patients;

static bool json;

struct sums {
	int checks;
	int problems;
	int patients;
};

/* In memory that children in other network namespaces share */
static struct sums *sums;

/* ---- the report -------------------------------------------------------------- */

/* Prints one check. @cure is NULL where nothing is wrong; a problem has one. */
static void report(const char *check, const char *cure, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void report(const char *check, const char *cure, const char *format, ...)
{
	char text[512], there[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (cure)
		sums->problems++;
	/* A command about a network device is one for its namespace. */
	if (cure && *netns_current() && (!strncmp(cure, "ip ", 3) || !strncmp(cure, "tc ", 3))) {
		snprintf(there, sizeof(there), "softhca run -n %s -- %s", netns_current(), cure);
		cure = there;
	}
	if (!json) {
		printf("%-8s %-9s %s\n", cure ? "problem" : "ok", check, text);
		if (cure)
			printf("%-8s %-9s %s\n", "", "  cure:", cure);
		sums->checks++;
		return;
	}
	printf("%s\n  {\"check\": \"%s\", \"ok\": %s, \"text\": ",
	       sums->checks++ ? "," : "", check, cure ? "false" : "true");
	print_json_string(text);
	if (cure) {
		printf(", \"cure\": ");
		print_json_string(cure);
	}
	putchar('}');
}

/* ---- the machine ------------------------------------------------------------- */

static bool check_module(void)
{
	char version[64];

	if (access("/sys/module/softhca", F_OK)) {
		report("module", "modprobe softhca (if that finds none: make && sudo make install)",
		       "the kernel module softhca is not loaded");
		return false;
	}
	file_line("/sys/module/softhca/version", version, sizeof(version));
	if (strcmp(version, SHCA_VERSION))
		report("module", "modprobe -r softhca && modprobe softhca",
		       "the loaded module is version %s, and this tool is %s",
		       version, SHCA_VERSION);
	else
		report("module", NULL, "softhca %s is loaded", version);
	return true;
}

static void check_memlock(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		report("memlock", NULL, "programs may register any amount of memory");
	else if (limit.rlim_cur < MIN_MEMLOCK)
		report("memlock", "ulimit -l unlimited (for good: memlock in /etc/security/limits.conf, LimitMEMLOCK=infinity in a service)",
		       "programs started here may register %llu KiB of memory only",
		       (unsigned long long)limit.rlim_cur / 1024);
	else
		report("memlock", NULL, "programs started here may register %llu KiB of memory",
		       (unsigned long long)limit.rlim_cur / 1024);
}

/* Only rdma_cm needs it, but most programs use that. */
static void check_rdma_cm(void)
{
	struct stat file;

	if (stat("/dev/infiniband/rdma_cm", &file))
		report("rdma_cm", "modprobe rdma_ucm (in a container: docker run --device /dev/infiniband/rdma_cm)",
		       "there is no /dev/infiniband/rdma_cm");
	else if ((file.st_mode & 0006) != 0006)
		report("rdma_cm", "chmod 666 /dev/infiniband/rdma_cm (udev does it at boot, by the rules of the package rdma-core)",
		       "only root can open /dev/infiniband/rdma_cm");
	else
		report("rdma_cm", NULL, "/dev/infiniband/rdma_cm is there, for every user");
}

/* Return: whether a UDP socket of this network namespace has the port. */
static bool port_is_taken(const char *path)
{
	char line[512];
	unsigned int port;
	bool taken = false;
	FILE *file = fopen(path, "r");

	while (file && !taken && fgets(line, sizeof(line), file))
		taken = sscanf(line, " %*d: %*[0-9A-Fa-f]:%x ", &port) == 1 &&
			port == ROCE_PORT;
	if (file)
		fclose(file);
	return taken;
}

/* Without a device here, whoever has the port keeps one from being made. */
static void check_port_is_free(void)
{
	if (!port_is_taken("/proc/net/udp") && !port_is_taken("/proc/net/udp6"))
		report("port", NULL, "UDP port %d is free", ROCE_PORT);
	else if (!access("/sys/module/rdma_rxe", F_OK))
		report("port", "modprobe -r rdma_rxe",
		       "Soft-RoCE (rdma_rxe) has UDP port %d of this network namespace",
		       ROCE_PORT);
	else
		report("port", "ss -ulnp 'sport = :4791' names it; end it",
		       "another program has UDP port %d of this network namespace",
		       ROCE_PORT);
}

static void add_patient(const char *name, const char *netdev, void *arg)
{
	struct patient *p = &patients[nr_patients];

	(void)arg;
	if (nr_patients == MAX_DEVICES)
		return;
	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->netdev, sizeof(p->netdev), "%s", netdev);
	nr_patients++;
}

/* A network device that is up and is no loopback, for an example. */
static const char *any_netdev(void)
{
	static char name[IFNAMSIZ];
	struct if_nameindex *list = if_nameindex(), *i;
	struct ifreq request = {};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(name, sizeof(name), "eth0");
	for (i = list; i && i->if_name; i++) {
		memcpy(request.ifr_name, i->if_name, strnlen(i->if_name, IFNAMSIZ - 1) + 1);
		if (!ioctl(fd, SIOCGIFFLAGS, &request) &&
		    (request.ifr_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP) {
			memcpy(name, request.ifr_name, sizeof(name));
			break;
		}
	}
	if (list)
		if_freenameindex(list);
	close(fd);
	return name;
}

static void report_no_device(void)
{
	char cure[256];

	netns_hint();
	snprintf(cure, sizeof(cure), "rdma link add shca0 type softhca netdev %s (or, to try programs: softhca up)",
		 any_netdev());
	report("device", cure, "this network namespace has no softhca device");
}

/* ---- a device as programs see it ----------------------------------------------- */

/*
 * In a child process, with stderr in a pipe: libibverbs tells there why it did not
 * load a provider. No header is needed: the types are opaque.
 * Return: exit status: 0: it is there and can be opened; 1: not there; 2: cannot be
 * opened; 3: no libibverbs.
 */
static int ask_libibverbs(const char *name)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW), **list, *context;
	void **(*get_list)(int *nr);
	const char *(*get_name)(void *device);
	void *(*open_device)(void *device);
	int nr = 0, i;

	if (!lib)
		return 3;
	*(void **)&get_list = dlsym(lib, "ibv_get_device_list");
	*(void **)&get_name = dlsym(lib, "ibv_get_device_name");
	*(void **)&open_device = dlsym(lib, "ibv_open_device");
	if (!get_list || !get_name || !open_device)
		return 3;
	list = get_list(&nr);
	for (i = 0; list && i < nr; i++) {
		if (strcmp(get_name(list[i]), name))
			continue;
		context = open_device(list[i]);
		return context ? 0 : 2;
	}
	return 1;
}

static void check_provider(const struct patient *p)
{
	char said[4096] = "", *driver, *end;
	size_t used = 0;
	ssize_t got;
	int fds[2], status;
	pid_t child;

	if (pipe(fds))
		return;
	fflush(NULL);
	child = fork();
	if (!child) {
		dup2(fds[1], STDERR_FILENO);
		_exit(ask_libibverbs(p->name));
	}
	close(fds[1]);
	while (used < sizeof(said) - 1 &&
	       (got = read(fds[0], said + used, sizeof(said) - 1 - used)) > 0)
		used += got;
	close(fds[0]);
	if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
		status = 3 << 8;
	said[used] = '\0';
	driver = strstr(said, "libsofthca-rdmav");
	end = driver ? strchr(driver, '\'') : NULL;
	if (end)
		*end = '\0';
	switch (WEXITSTATUS(status)) {
	case 0:
		report("provider", NULL, "%s: libibverbs finds the device and opens it", p->name);
		break;
	case 2:
		report("provider", "ls -l /dev/infiniband; 'strace -e openat ibv_devinfo' shows what is refused",
		       "%s: libibverbs finds the device, and cannot open it", p->name);
		break;
	case 3:
		report("provider", "apt-get install libibverbs1 ibverbs-utils",
		       "libibverbs is not installed");
		break;
	default:
		if (access(DRIVER_FILE, F_OK))
			report("provider", "sudo make install (or install the package softhca again)",
			       "%s: libibverbs does not know the provider: there is no " DRIVER_FILE,
			       p->name);
		else if (driver)
			report("provider", "make && sudo make install (or install the package softhca again)",
			       "%s: libibverbs cannot load the provider %s: it is missing, or made for another libibverbs",
			       p->name, driver);
		else
			report("provider", "ibv_devinfo -d DEVICE prints the reason",
			       "%s: libibverbs does not find the device", p->name);
	}
}

/* Return: the number of the device's uverbs file, or -1. */
static int find_uverbs(const char *name)
{
	char path[512], device[64];
	struct dirent *entry;
	int number, found = -1;
	DIR *dir;

	/* In exclusive mode only this folder hides the devices of others. */
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", name);
	if (access(path, F_OK))
		return -1;
	dir = opendir("/sys/class/infiniband_verbs");
	while (dir && found < 0 && (entry = readdir(dir))) {
		if (sscanf(entry->d_name, "uverbs%d", &number) != 1)
			continue;
		snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/ibdev",
			 entry->d_name);
		file_line(path, device, sizeof(device));
		if (!strcmp(device, name))
			found = number;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Return: whether programs can get at the device at all. */
static bool check_file(const struct patient *p)
{
	int number = find_uverbs(p->name);
	char path[64], cure[256];
	struct stat file;

	if (number < 0) {
		snprintf(cure, sizeof(cure), "rdma dev set %s netns NAME, where the device is (or, without namespaces: rdma system set netns shared)",
			 p->name);
		report("mode", rdma_is_exclusive() ? cure : "modprobe ib_uverbs",
		       rdma_is_exclusive() ?
		       "%s: RDMA devices belong to one network namespace each, and this one belongs to another" :
		       "%s: the kernel offers the device to no program", p->name);
		return false;
	}
	snprintf(path, sizeof(path), "/dev/infiniband/uverbs%d", number);
	if (stat(path, &file)) {
		snprintf(cure, sizeof(cure), "udevadm trigger (in a container: docker run --device %s)",
			 path);
		report("file", cure, "%s: there is no %s", p->name, path);
		return false;
	}
	snprintf(cure, sizeof(cure), "chmod 666 %s (udev does it at boot, by the rules of the package rdma-core)",
		 path);
	if ((file.st_mode & 0006) != 0006)
		report("file", cure, "%s: only root can open %s", p->name, path);
	else
		report("file", NULL, "%s: every user can open %s", p->name, path);
	return true;
}

/* ---- its network ------------------------------------------------------------- */

/* The line of a file of its port; "" where the device belongs to another namespace. */
static void read_port(const struct patient *p, const char *file, char *line, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/%s", p->name, file);
	file_line(path, line, size);
}

static bool is_infiniband(const struct patient *p)
{
	char layer[32];

	read_port(p, "link_layer", layer, sizeof(layer));
	return !strcmp(layer, "InfiniBand");
}

/* Return: whether its network device lets the port be up. */
static bool check_netdev(const struct patient *p, bool infiniband)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), flags, mtu;
	int min = infiniband ? MIN_IB_MTU : MIN_MTU;
	char cure[128], path[128], state[32], carrier[8];
	struct ifreq request = {};

	memcpy(request.ifr_name, p->netdev, sizeof(request.ifr_name));
	flags = ioctl(fd, SIOCGIFFLAGS, &request) ? 0 : request.ifr_flags;
	mtu = ioctl(fd, SIOCGIFMTU, &request) ? 0 : request.ifr_mtu;
	close(fd);
	read_port(p, "state", state, sizeof(state));
	/* (the flag follows up to a second later, and the port at once) */
	snprintf(path, sizeof(path), "/sys/class/net/%s/carrier", p->netdev);
	file_line(path, carrier, sizeof(carrier));
	if (!(flags & IFF_UP)) {
		snprintf(cure, sizeof(cure), "ip link set dev %s up", p->netdev);
		report("netdev", cure, "%s: the network device %s is down", p->name,
		       p->netdev);
		return false;
	}
	if (!(flags & IFF_RUNNING) || *carrier == '0') {
		snprintf(cure, sizeof(cure), "connect it, or bring up its other end ('ip link show dev %s')",
			 p->netdev);
		report("netdev", cure, "%s: the network device %s has no carrier",
		       p->name, p->netdev);
		return false;
	}
	if (mtu < min) {
		snprintf(cure, sizeof(cure), "ip link set dev %s mtu 1500", p->netdev);
		report("mtu", cure, "%s: the MTU of %s is %d, and %s packet needs %d",
		       p->name, p->netdev, mtu, infiniband ? "an InfiniBand" : "a RoCE", min);
		return false;
	}
	/* The state of an InfiniBand port is not only that of its network device. */
	if (!infiniband && *state && !strstr(state, "ACTIVE")) {
		report("netdev", "dmesg | tail", "%s: %s is up, but the port is not (%s)",
		       p->name, p->netdev, state);
		return false;
	}
	report("netdev", NULL, "%s: %s is up, MTU %d: path MTUs up to %d", p->name, p->netdev, mtu,
	       device_path_mtu(mtu, infiniband));
	return true;
}

/* the first GID that is not link-local */
struct first_gid {
	int index;
	struct in6_addr gid;
};

static void take_gid(int index, const struct in6_addr *gid, void *arg)
{
	struct first_gid *first = arg;

	if (first->index < 0 && !IN6_IS_ADDR_LINKLOCAL(gid))
		*first = (struct first_gid){ index, *gid };
}

/* The address as a socket address; prints it to @text, too. */
static socklen_t to_sockaddr(const struct in6_addr *gid, int port,
			     struct sockaddr_storage *storage, char *text)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)storage;
	struct sockaddr_in *in = (struct sockaddr_in *)storage;

	memset(storage, 0, sizeof(*storage));
	if (IN6_IS_ADDR_V4MAPPED(gid)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, &gid->s6_addr[12], sizeof(in->sin_addr));
		inet_ntop(AF_INET, &in->sin_addr, text, INET6_ADDRSTRLEN);
		return sizeof(*in);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	in6->sin6_addr = *gid;
	inet_ntop(AF_INET6, gid, text, INET6_ADDRSTRLEN);
	return sizeof(*in6);
}

/* Packets too short for RoCE that all devices here have counted */
static unsigned long long count_short(void)
{
	unsigned long long sum = 0;
	int i;

	for (i = 0; i < nr_patients; i++)
		sum += rdma_counter(patients[i].name, "rx_truncated");
	return sum;
}

/*
 * Sends a packet that is too short for RoCE from the device's address to itself.
 * It takes the way of RoCE packets, and the device drops and counts it.
 */
static void check_port(const struct patient *p, const struct in6_addr *gid)
{
	/* The RDMA core may keep counters for 10 ms. */
	struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_storage from, to;
	socklen_t size = to_sockaddr(gid, 0, &from, text);
	unsigned long long before;
	int fd = socket(from.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), tries;
	bool arrived = false;

	to_sockaddr(gid, ROCE_PORT, &to, text);
	nanosleep(&pause, NULL);
	before = count_short();
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&from, size) &&
	    sendto(fd, "doctor", 6, 0, (struct sockaddr *)&to, size) == 6)
		for (tries = 0; !arrived && tries < 50; tries++) {
			nanosleep(&pause, NULL);
			arrived = count_short() != before;
		}
	close(fd);
	if (arrived)
		report("port", NULL, "%s: packets to UDP port %d of %s arrive",
		       p->name, ROCE_PORT, text);
	else
		report("port", "allow UDP port 4791: 'nft list ruleset' shows the rule that drops it ('iptables -I INPUT -p udp --dport 4791 -j ACCEPT' comes before it)",
		       "%s: a packet to UDP port %d of %s does not arrive: a firewall drops it",
		       p->name, ROCE_PORT, text);
}

/*
 * An InfiniBand port needs its peer and a subnet manager. It needs no IP address: its GIDs
 * are made of GUIDs, and its packets are not UDP.
 */
static void check_subnet(const struct patient *p)
{
	char state[32], physical[32], lid[32], guid[64], cure[256], *to = guid, *from;

	read_port(p, "state", state, sizeof(state));
	read_port(p, "phys_state", physical, sizeof(physical));
	if (strstr(state, "ACTIVE")) {
		read_port(p, "lid", lid, sizeof(lid));
		report("subnet", NULL, "%s: the InfiniBand port is Active, LID %s", p->name, lid);
		return;
	}
	if (strstr(physical, "Disabled")) {
		snprintf(cure, sizeof(cure), "rdma link delete %s; rdma link add %s type softhca_ib netdev %s",
			 p->name, p->name, p->netdev);
		report("subnet", cure, "%s: a subnet manager has disabled the InfiniBand port",
		       p->name);
		return;
	}
	if (strstr(state, "DOWN")) {
		report("subnet", "rdma link add NAME type softhca_ib netdev NETDEV, at the other end",
		       "%s: no InfiniBand port answers at the other end of %s (%s)", p->name,
		       p->netdev, physical);
		return;
	}
	read_port(p, "gids/0", guid, sizeof(guid));
	/* (its last four words are the port's GUID) */
	for (from = guid + strlen(guid) / 2; *from; from++)
		if (*from != ':')
			*to++ = *from;
	*to = '\0';
	snprintf(cure, sizeof(cure), "modprobe ib_umad; opensm -B -g 0x%s (on one machine of the subnet; docs/infiniband.md)",
		 guid);
	report("subnet", cure, "%s: no subnet manager has configured the InfiniBand port (%s)",
	       p->name, state);
}

static void report_obstacle(const struct obstacle *obstacle, void *found)
{
	++*(int *)found;
	report(obstacle->check, obstacle->cure, "%s", obstacle->text);
}

static void examine(const struct patient *p)
{
	bool infiniband = is_infiniband(p);
	struct first_gid first = { .index = -1 };
	char cure[128], text[INET6_ADDRSTRLEN];
	struct sockaddr_storage address;
	int found = 0;

	if (check_file(p))
		check_provider(p);
	if (!check_netdev(p, infiniband) || find_uverbs(p->name) < 0)
		return;
	obstacles_of(p->name, report_obstacle, &found);
	if (!found)
		report("way", NULL, "%s: no rule of fault injection has hit, and no netem is on the path",
		       p->name);
	if (infiniband) {
		check_subnet(p);
		return;
	}
	device_gids(p->name, take_gid, &first);
	if (first.index < 0) {
		snprintf(cure, sizeof(cure), "ip address add 10.0.0.1/24 dev %s (an address of your network)",
			 p->netdev);
		report("gid", cure, "%s: %s has no IP address but a link-local one, so there is no GID for it",
		       p->name, p->netdev);
		return;
	}
	to_sockaddr(&first.gid, 0, &address, text);
	report("gid", NULL, "%s: %s is GID %d: programs take -g %d (perftest: -x %d)",
	       p->name, text, first.index, first.index, first.index);
	check_port(p, &first.gid);
}

static void examine_all(void)
{
	int i;

	nr_patients = 0;
	device_netdevs(add_patient, NULL);
	for (i = 0; i < nr_patients; i++)
		examine(&patients[i]);
	sums->patients += nr_patients;
}

/* In a child, for it needs the /sys of the namespace. @arg: its file descriptor */
static int examine_inside(const void *arg)
{
	if (netns_enter(*(const int *)arg))
		return EXIT_FAILURE;
	examine_all();
	return EXIT_SUCCESS;
}

static bool examine_here(void *arg)
{
	int fd;

	(void)arg;
	if (!*netns_current()) {
		examine_all();
		return false;
	}
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		netns_call(fd, examine_inside, &fd);
	close(fd);
	return false;
}

static int doctor_run(const struct call *call)
{
	int problems;

	json = call->option[0];
	sums = mmap(NULL, sizeof(*sums), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sums == MAP_FAILED)
		return fail("doctor: out of memory");
	if (json)
		putchar('[');
	check_memlock();
	if (check_module()) {
		check_rdma_cm();
		netns_everywhere(examine_here, NULL);
	}
	if (!sums->patients) {
		report_no_device();
		check_port_is_free();
	}
	problems = sums->problems;
	if (json)
		puts("\n]");
	else if (problems)
		printf("\n%d problem%s\n", problems, problems == 1 ? "" : "s");
	else
		puts("\nNo problem found.");
	return problems ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command doctor_commands[] = {
	{
		.name = "doctor",
		.pattern = "",
		.summary = "find what keeps programs from using a device, with the command that cures it",
		.details = "Looks at the module, the provider, files, limits, rules of fault injection, the network\n"
			   "devices and UDP port 4791 of this network namespace, and of those of 'softhca up'.\n"
			   "Sends one packet to each RoCE device, which counts it in rx_truncated.\n"
			   "An InfiniBand port needs a subnet manager instead, which it looks for.\n"
			   "The exit status is 0 if no problem was found, and 1 otherwise.",
		.option = { { "json", "print a JSON array of objects", NULL, 0 } },
		.run = doctor_run,
	},
	{}
};
