#!/bin/sh
# sandbox-runs.sh VERSION: the tests of the sandbox as root and as a plain user, on a machine with cgroups of that version. After each run it
# prints `ended: NAME: EXIT CODE`. Started by sandbox.ts in the folder of the repository, whose file build/virtual-machine/tests names the tests.
#
# As process 1 of a virtual machine it mounts the cgroups that the kernel's command line names (reeve.cgroup=VERSION), and turns the machine off
# in the end. reeve.slowness= says how much slower than a real one that machine is.
USER_ID=61234
version=$1

# run NAME FOOTING COMMAND…: COMMAND starts the tests as somebody; FOOTING is what the rig of the tests must find.
run() {
  name=$1 footing=$2
  shift 2
  echo "▶ $name"
  REEVE_TEST_SANDBOX=$footing "$@" node --test --test-concurrency=1 --test-reporter=spec $(cat build/virtual-machine/tests) 2>&1
  echo "ended: $name: $?"
}

as_user() {
  home=$(mktemp -d) && chown $USER_ID "$home"
  env HOME="$home" TMPDIR="$home" setpriv --reuid $USER_ID --regid $USER_ID --clear-groups --inh-caps=-all "$@"
  code=$?
  rm -rf "$home"
  return $code
}

# In a cgroup that belongs to the user, as `Delegate=yes` of systemd makes it.
as_user_of_scope() {
  slice=/sys/fs/cgroup/reeve-test.slice scope=$slice/reeve-test.scope
  mkdir -p $scope
  for parent in /sys/fs/cgroup $slice; do echo '+cpu +memory +pids' >$parent/cgroup.subtree_control; done
  chown $USER_ID $scope $scope/cgroup.procs $scope/cgroup.threads $scope/cgroup.subtree_control
  (echo 0 >$scope/cgroup.procs && as_user "$@")
  code=$?
  rmdir $scope/reeve-main $scope $slice
  return $code
}

mount_cgroups() {
  [ "$version" = 2 ] && mount -t cgroup2 -o nsdelegate,memory_recursiveprot cgroup2 /sys/fs/cgroup && return
  mount -t tmpfs tmpfs /sys/fs/cgroup
  for controller in cpu cpuacct memory pids; do
    mkdir /sys/fs/cgroup/$controller
    mount -t cgroup -o $controller cgroup /sys/fs/cgroup/$controller
  done
}

start_machine() {
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb
  mountpoint -q /proc || mount -t proc proc /proc
  mountpoint -q /sys || mount -t sysfs sysfs /sys
  mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm
  version=$(sed 's/.*reeve.cgroup=//; s/ .*//' /proc/cmdline)
  REEVE_TEST_SLOWNESS=$(sed 's/.*reeve.slowness=//; s/ .*//' /proc/cmdline)
  export REEVE_TEST_SLOWNESS
  mount_cgroups
}

[ $$ = 1 ] && start_machine
run "root, cgroup v$version" root env
[ "$version" = 2 ] && run 'plain user, cgroup v2 delegated' delegated as_user_of_scope
run "plain user, cgroup v$version not delegated" degraded as_user
[ $$ = 1 ] || exit 0
echo o >/proc/sysrq-trigger
sleep 60
