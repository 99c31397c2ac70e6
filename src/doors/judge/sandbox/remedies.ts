// What to do about a call that the kernel refused. docs/judge-sandbox.md says more about each.
import { getSystemErrorName } from 'node:util'

const REMEDIES: readonly (readonly [call: RegExp, remedy: string])[] = [
  [
    /^(unshare|clone3\(new namespaces\)).*: (EPERM|ENOSPC|EINVAL|ENOSYS)/,
    'User namespaces are not allowed here: set user.max_user_namespaces above 0, and where the system has them ' +
      'kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0 (sysctl -w), or run Reeve as root. ' +
      'A container needs --privileged, or a runtime profile that allows unshare and mount.',
  ],
  [
    /^mount\(proc\)/,
    'A container that hides parts of /proc cannot give a box one of its own: start it with --security-opt systempaths=unconfined, or ' +
      'with --privileged.',
  ],
  [/^(open_tree|mount_setattr|move_mount).*: ENOSYS/, 'Linux 5.12 or newer is needed.'],
  [
    /^(open_tree|mount_setattr|move_mount|mount|pivot_root|umount)/,
    'Reeve may not mount here: run it as root or with user namespaces.',
  ],
  [
    /cgroup|memory\.|pids\.|cpu\.|cpuacct\./,
    'Run Reeve as root, or give it a cgroup v2 of its own: systemd-run --user --scope -p Delegate=yes npm start ' +
      '(as a service: Delegate=yes), or name one that it may write to in SANDBOX_CGROUP.',
  ],
  [
    /^(write\("\/proc\/\d+\/[ug]id_map"\)|setresuid)/,
    'The ids 65533 and 65534 must exist where Reeve runs as root in a container.',
  ],
  [/^prctl\(PR_SET_SECCOMP\)/, 'The kernel must be built with CONFIG_SECCOMP_FILTER.'],
  [/^stat\("/, 'The path is missing: the language cannot run on this machine as configured.'],
]

/** A failure in the helper's words, with the error's name for its number and what to do about it. */
export function explained(failure: string): string {
  const named = failure.replace(/errno (\d+)$/, (_, number: string) => getSystemErrorName(-Number(number)))
  const remedy = remedyFor(named)
  return remedy === null ? named : `${named}. ${remedy}`
}

export const remedyFor = (failure: string): string | null => REMEDIES.find(([call]) => call.test(failure))?.[1] ?? null
