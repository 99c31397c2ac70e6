import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { nodeArgs } from '../support/program.ts'
import { temporaryFolder } from '../support/servers.ts'

const SCRIPT = nodeArgs(new URL('../../scripts/release.ts', import.meta.url))
const PACKAGE = '{\n  "name": "x",\n  "version": "0.1.0"\n}\n'

describe('npm run release', () => {
  test('sets the version everywhere, closes the changelog, commits and tags', async (t) => {
    const { run, git, read } = await setup(t, '- A new door.')

    const { status, stderr } = run('0.2.0')

    assert.equal(status, 0, stderr)
    assert.equal(JSON.parse(read('package.json')).version, '0.2.0')
    assert.equal(JSON.parse(read('sdk/package.json')).version, '0.2.0')
    assert.match(
      read('CHANGELOG.md'),
      /^# Changelog\n\n## Unreleased\n\n## 0\.2\.0 \(\d{4}-\d\d-\d\d\)\n\n- A new door\.\n/,
    )
    assert.equal(git('log', '-1', '--format=%s'), 'Release 0.2.0')
    assert.equal(git('tag', '--list', '--format=%(contents)', 'v0.2.0'), '0.2.0\n\n- A new door.')
    assert.equal(git('status', '--porcelain'), '')
  })

  test('a dry run says what it would do and changes nothing', async (t) => {
    const { run, git } = await setup(t, '- A new door.')
    const before = git('rev-parse', 'HEAD')

    const { status, stdout } = run('0.2.0', '--dry-run')

    assert.equal(status, 0)
    assert.match(stdout, /^Would release v0\.2\.0 \(now 0\.1\.0\) with these notes:\n\n- A new door\.$/m)
    assert.deepEqual([git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag')], [before, '', ''])
  })

  test('refuses a dirty tree, a version that does not rise, an existing tag and an empty changelog', async (t) => {
    const dirty = await setup(t, '- A new door.')
    writeFileSync(join(dirty.folder, 'new.txt'), 'x')
    const tagged = await setup(t, '- A new door.')
    tagged.git('tag', 'v0.2.0')
    const empty = await setup(t, '')

    const refusals = [
      dirty.run('0.2.0'),
      tagged.run('0.1.0'),
      tagged.run('0.0.9'),
      tagged.run('0.2.0'),
      tagged.run('two'),
      empty.run('0.2.0'),
    ]

    assert.deepEqual(
      refusals.map(({ status, stderr }) => [status, stderr.split('\n')[0]]),
      [
        [1, 'The tree has changes. Commit or stash them first:'],
        [1, '0.1.0 is not newer than 0.1.0.'],
        [1, '0.0.9 is not newer than 0.1.0.'],
        [1, 'There is a tag v0.2.0.'],
        [1, 'Usage: npm run release -- MAJOR.MINOR.PATCH [--dry-run]'],
        [1, 'CHANGELOG.md has nothing under "## Unreleased".'],
      ],
    )
    assert.equal(JSON.parse(dirty.read('package.json')).version, '0.1.0')
  })
})

/** A repository with two packages and a changelog. */
async function setup(t: TestContext, notes: string) {
  const folder = await temporaryFolder(t)
  mkdirSync(join(folder, 'sdk'))
  const files = {
    'package.json': PACKAGE,
    'sdk/package.json': PACKAGE,
    'CHANGELOG.md': `# Changelog\n\n## Unreleased\n\n${notes}\n`,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const identity = ['-c', 'user.name=Somebody', '-c', 'user.email=somebody@example.org']
  const git = (...options: string[]) => execFileSync('git', options, { cwd: folder, encoding: 'utf8' }).trim()
  git('init', '--quiet')
  git('config', 'user.name', 'Somebody')
  git('config', 'user.email', 'somebody@example.org')
  execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts', '--offline'], {
    cwd: folder,
    stdio: 'ignore',
  })
  git('add', '--all')
  git(...identity, 'commit', '--quiet', '--message', 'Begin')
  const run = (...options: string[]) =>
    spawnSync(process.execPath, [...SCRIPT, ...options], { cwd: folder, encoding: 'utf8' })
  return { folder, run, git, read: (name: string) => readFileSync(join(folder, name), 'utf8') }
}
