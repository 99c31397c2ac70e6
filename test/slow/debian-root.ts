// A Debian in a folder, and this Node in it.
import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'

const SUITE = 'bookworm'
const MIRROR = 'http://deb.debian.org/debian'

export const makeDebian = (root: string, packages: readonly string[]): boolean =>
  ran('debootstrap', ['--variant=minbase', `--include=${packages.join(',')}`, SUITE, root, MIRROR])

/** This Node, with its npm, and the libraries that it is linked with and Debian's base lacks. */
export function putNode(root: string): void {
  const prefix = dirname(dirname(process.execPath))
  cpSync(process.execPath, join(root, 'usr/bin/node'))
  const npm = spawnSync('npm', ['root', '--global'], { encoding: 'utf8' }).stdout.trim()
  cpSync(join(npm, 'npm'), join(root, 'usr/lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx']) {
    const script = `#!/bin/sh\nexec node /usr/lib/node_modules/npm/bin/${name}-cli.js "$@"\n`
    spawnSync('sh', ['-c', `cat > "$0" && chmod 755 "$0"`, join(root, 'usr/bin', name)], { input: script })
  }
  const libraries = spawnSync('ldd', [process.execPath], { encoding: 'utf8' }).stdout.matchAll(/=> (\/\S+)/g)
  for (const [, library = ''] of libraries) {
    if (library.startsWith(prefix) || !library.startsWith('/lib')) cpSync(library, join(root, library))
  }
}

export const ran = (program: string, options: readonly string[]): boolean =>
  spawnSync(program, options, { stdio: 'inherit' }).status === 0
