// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Gloo over its ibverbs transport: ranks in processes of their own find each other by
 * files, then reduce and broadcast; every element is compared.
 *
 *   gloo DEVICE GID_INDEX RANK RANKS FOLDER
 */
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <gloo/algorithm.h>
#include <gloo/allgather_ring.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

using Context = gloo::rendezvous::Context;
using Device = std::shared_ptr<gloo::transport::Device>;

// The rendezvous takes a reference in older versions, a shared pointer in newer ones.
template <typename C>
static auto connect(C &context, std::shared_ptr<gloo::rendezvous::FileStore> store, Device &device, int)
	-> decltype(context.connectFullMesh(*store, device), void())
{
	context.connectFullMesh(*store, device);
}

template <typename C>
static auto connect(C &context, std::shared_ptr<gloo::rendezvous::FileStore> store, Device &device, long)
	-> decltype(context.connectFullMesh(store, device), void())
{
	context.connectFullMesh(store, device);
}

static bool is_right(const std::vector<float> &got, float factor, const char *name)
{
	for (size_t i = 0; i < got.size(); i++)
		if (got[i] != factor * (i % 1000)) {
			std::printf("not ok %s # element %zu is %f\n", name, i, got[i]);
			return false;
		}
	std::printf("right: %s of %zu elements\n", name, got.size());
	return true;
}

static std::vector<float> elements(size_t nr, float factor)
{
	std::vector<float> v(nr);

	for (size_t i = 0; i < nr; i++)
		v[i] = factor * (i % 1000);
	return v;
}

// Run it, and keep it: Gloo's buffers may not be destroyed while the peer has yet to
// acknowledge what they sent last, and run() does not wait for that.
static std::vector<std::unique_ptr<gloo::Algorithm>> kept;

template <typename A, typename... Arguments> static void run(Arguments &&...arguments)
{
	kept.push_back(std::make_unique<A>(std::forward<Arguments>(arguments)...));
	kept.back()->run();
}

static bool work(std::shared_ptr<Context> context, int rank, int ranks)
{
	float sum = ranks * (ranks + 1) / 2;
	bool right = true;

	for (size_t nr : {1, 1000, 100000, 300000}) {
		auto v = elements(nr, rank + 1);
		run<gloo::AllreduceRing<float>>(context, std::vector<float *>{v.data()}, nr);
		right &= is_right(v, sum, "allreduce_ring");
		v = elements(nr, rank + 1);
		run<gloo::AllreduceRingChunked<float>>(context, std::vector<float *>{v.data()}, nr);
		right &= is_right(v, sum, "allreduce_ring_chunked");
		v = elements(nr, rank ? 0 : 7);
		run<gloo::BroadcastOneToAll<float>>(context, std::vector<float *>{v.data()}, nr, 0);
		right &= is_right(v, 7, "broadcast");
		auto all = std::vector<float>(nr * ranks);
		v = elements(nr, rank + 1);
		run<gloo::AllgatherRing<float>>(context, std::vector<const float *>{v.data()}, all.data(), nr);
		for (int from = 0; from < ranks; from++)
			right &= is_right({all.begin() + from * nr, all.begin() + (from + 1) * nr}, from + 1,
					  "allgather");
	}
	run<gloo::BarrierAllToAll>(context);
	return right;
}

int main(int argc, char **argv)
{
	if (argc != 6) {
		std::fprintf(stderr, "usage: gloo DEVICE GID_INDEX RANK RANKS FOLDER\n");
		return 2;
	}
	int rank = std::atoi(argv[3]), ranks = std::atoi(argv[4]);

	try {
		gloo::transport::ibverbs::attr attr = {argv[1], 1, std::atoi(argv[2])};
		Device device = gloo::transport::ibverbs::CreateDevice(attr);
		auto context = std::make_shared<Context>(rank, ranks);

		auto store = std::make_shared<gloo::rendezvous::FileStore>(argv[5]);
		connect(*context, store, device, 0);
		bool right = work(context, rank, ranks);
		// all have received all: nothing is under way any more
		store->set("done" + std::string(argv[3]), {'1'});
		for (int other = 0; other < ranks; other++)
			store->wait({"done" + std::to_string(other)});
		std::fflush(stdout);
		_exit(right ? 0 : 1);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gloo: %s\n", e.what());
		return 1;
	}
}
