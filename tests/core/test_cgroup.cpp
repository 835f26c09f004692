#include "core/cgroup.h"

#include <doctest/doctest.h>

#include "tests/temp_folder.h"

using namespace tapeformer;

TEST_CASE("cgroup: the least limit of a group and of those around it, in version 2") {
  const TempFolder root;
  root.write("proc/self/cgroup", "0::/service.slice/train.service\n");
  root.write("sys/fs/cgroup/service.slice/cpu.max", "300000 100000\n");
  root.write("sys/fs/cgroup/service.slice/memory.max", "1000\n");
  root.write("sys/fs/cgroup/service.slice/train.service/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/service.slice/train.service/memory.max", "max\n");
  CHECK(cgroup_processors(root.path) == 3);
  CHECK(cgroup_memory_bytes(5000, root.path) == 1000);
  CHECK(cgroup_memory_bytes(500, root.path) == 500);
  root.write("sys/fs/cgroup/service.slice/train.service/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/service.slice/train.service/memory.max", "700\n");
  CHECK(cgroup_processors(root.path) == 2);  // one and a half
  CHECK(cgroup_memory_bytes(5000, root.path) == 700);
}

TEST_CASE("cgroup: version 1, where a line names several controllers") {
  const TempFolder root;
  root.write("proc/self/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/box\n3:memory:/box\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_processors(root.path) == 0);
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "400000\n");
  root.write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "4096\n");
  CHECK(cgroup_processors(root.path) == 4);
  CHECK(cgroup_memory_bytes(5000, root.path) == 4096);
}

TEST_CASE("cgroup: nothing is limited where nothing can be read, or makes no sense") {
  const TempFolder root;
  CHECK(cgroup_processors(root.path) == 0);
  CHECK(cgroup_memory_bytes(5000, root.path) == 5000);
  root.write("proc/self/cgroup", "no group\n0::/box\n");
  root.write("sys/fs/cgroup/box/cpu.max", "-5 x\n");
  root.write("sys/fs/cgroup/box/memory.max", "");
  CHECK(cgroup_processors(root.path) == 0);
  CHECK(cgroup_memory_bytes(5000, root.path) == 5000);
}
