// Rules of the house that a machine can check. (Lengths, casts, consoles and import cycles are the linter's: .oxlintrc.json.)
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { CORE_SETTINGS } from '../src/core/config.ts'
import { doorSettings } from '../src/doors/outline.ts'

const isCode = (file: string) => file.endsWith('.ts')
const isTest = (file: string) => /\.test\.ts$|\/setup\.ts$/.test(file)

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))
const sources = filesIn('src').filter(isCode)
const production = sources.filter((file) => !isTest(file) && !file.endsWith('.d.ts'))
const textOf = new Map(sources.map((file) => [file, readFileSync(file, 'utf8')]))
const readSource = (file: string) => textOf.get(file) ?? ''

const importsOf = (file: string) =>
  [
    ...readSource(file).matchAll(
      /^(?:import|export)[^'"]*?from '(\.[^']+)'|^import '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm,
    ),
  ].map((match) => normalize(join(dirname(file), match[1] ?? match[2] ?? match[3] ?? '')))
const doorOf = (file: string) => file.match(/^src\/doors\/([^/]+)\//)?.[1] ?? null

/** The lines of code that match, as `file:line`. Comments may name what code may not use. */
function linesWith(pattern: RegExp, files: readonly string[]): string[] {
  return files.flatMap((file) =>
    readSource(file)
      .split('\n')
      .flatMap((line, index) =>
        pattern.test(line.replace(/(^|\s)\/\/.*$|^\s*\*.*$/, '')) ? [`${file}:${index + 1}`] : [],
      ),
  )
}
const outside = (...allowed: readonly string[]) =>
  production.filter((file) => !allowed.some((start) => file.startsWith(start)))

describe('boundaries', () => {
  test('the core imports no door, and a door imports no other door', () => {
    const crossings = production.flatMap((file) =>
      importsOf(file)
        .filter((target) => doorOf(target) !== null && doorOf(target) !== doorOf(file))
        .filter(() => !/^src\/doors\/[^/]+$|^src\/cli\//.test(file)) // commands stand above the doors
        .map((target) => `${file} imports ${target}`),
    )
    assert.deepEqual(crossings, [])
  })

  test('the console speaks to the server only through the SDK', () => {
    const files = filesIn('console/src').filter((file) => /\.tsx?$/.test(file))
    const speaking =
      /\bfetch\(|\bXMLHttpRequest\b|\bnew (?:WebSocket|EventSource)\b|\bsendBeacon\b|from '(?:\.\.\/)+(?:src|sdk)\//
    const markup = /\bdangerouslySetInnerHTML\b|\binnerHTML\b|\binsertAdjacentHTML\b/
    const lines = files.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line, index) => (speaking.test(line) || markup.test(line) ? [`${file}:${index + 1}`] : [])),
    )
    assert(files.length > 0)
    assert.deepEqual(lines, [])
  })

  test('a folder of the console fits on a screen', () => {
    const counts = new Map<string, number>()
    for (const file of filesIn('console/src').filter((name) => /\.tsx?$/.test(name)))
      counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
    assert.deepEqual(
      [...counts].filter(([, count]) => count > FILES_PER_FOLDER_MAX),
      [],
    )
  })

  test('only src/core/ledger names the tables of the ledger', () => {
    const naming = /\b(from|into|update|join|table|only)\s+(jobs|attempts|idempotency_keys)\b/i
    assert.deepEqual(linesWith(naming, outside('src/core/ledger/')), [])
  })

  test('only src/core/outbox names the table of the outbox, and the two hot paths that write rows of their own', () => {
    const naming = /\b(from|into|update|join|table|only|using)\s+outbox_events\b/i
    const allowed = outside('src/core/outbox/', 'src/core/ledger/submit/', 'src/core/events/events.ts')
    assert.deepEqual(linesWith(naming, allowed), [])
  })

  test('only src/core/deliveries names the log of delivery attempts', () => {
    assert.deepEqual(linesWith(/\bdelivery_attempts\b/, outside('src/core/deliveries/')), [])
  })
})

describe('lifecycle', () => {
  const inServer = production.filter((file) => !file.startsWith('src/cli/'))

  test('only loops repeat: nothing calls setInterval', () => {
    assert.deepEqual(linesWith(/\bsetInterval\b/, inServer), [])
  })

  test('loops are declared, and started by main.ts and what it opens', () => {
    const starting = linesWith(/\b(runLoop|startLoops)\(/, inServer).map((line) => line.split(':')[0])
    const allowed = [
      'src/core/events/postgres-listener.ts', // the heartbeat of a connection that only listens is part of it
      'src/core/events/redis-bus.ts',
      'src/core/executor/background.ts',
      'src/core/executor/executor.ts', // the heartbeat goes on until the last job of a drain has ended
      'src/core/loop.ts',
      'src/main.ts',
    ]
    assert.deepEqual([...new Set(starting)].sort(), allowed)
  })
})

describe('one of each', () => {
  test('no door names the tables of the outbox', () => {
    const naming = /\b(outbox_events|delivery_attempts)\b/
    assert.deepEqual(
      linesWith(
        naming,
        production.filter((file) => doorOf(file) !== null),
      ),
      [],
    )
  })

  for (const tree of ['src', 'sdk/src']) {
    test(`a type name is declared once in ${tree}`, () => {
      const places = new Map<string, string[]>()
      for (const file of filesIn(tree).filter((file) => isCode(file) && !isTest(file))) {
        const declared = readFileSync(file, 'utf8').matchAll(
          /^(?:export )?(?:interface|type|class|abstract class) (\w+)/gm,
        )
        for (const [, name = ''] of declared) places.set(name, [...(places.get(name) ?? []), file])
      }
      assert.deepEqual(
        [...places].filter(([, files]) => files.length > 1),
        [],
      )
    })
  }

  test('every export is used in production, and imported by some other file', () => {
    const outsiders = [...filesIn('test'), ...filesIn('bench'), ...filesIn('scripts')]
    const others = outsiders.filter((file) => isCode(file) && !file.includes('node_modules'))
    const byProduction = new Set(production.flatMap((file) => importedNames(file, readSource(file))))
    const byOthers = new Set(others.flatMap((file) => importedNames(file, readFileSync(file, 'utf8'))))
    const exported = /^export (?:async )?(?:const|function\*?|class|abstract class|interface|type) (\w+)/gm

    const unused = production.flatMap((file) => {
      const text = readSource(file)
      return [...text.matchAll(exported)].flatMap(([declaration, name = '']) => {
        const isUsedHere = (text.match(new RegExp(`\\b${name}\\b`, 'g')) ?? []).length > 1
        const isType = /interface|type/.test(declaration) // a type may be exported for what uses it
        const id = `${file}: ${name}`
        const isUsed = byProduction.has(id) || (isUsedHere && (isType || byOthers.has(id)))
        return isUsed ? [] : [id]
      })
    })
    assert.deepEqual(unused, [])
  })

  test('every setting is read', () => {
    const text = production.map((file) => readSource(file)).join('\n')
    const names = Object.keys({ ...CORE_SETTINGS, ...doorSettings() })
    const timesUsed = (name: string) => (text.match(new RegExp(`\\b${name}\\b`, 'g')) ?? []).length
    assert.deepEqual(
      names.filter((name) => timesUsed(name) < 2), // once where it is declared
      [],
    )
  })
})

/** What a file imports, as `file: name`. A module that is imported as a whole gives the names that are read from it. */
function importedNames(file: string, text: string): string[] {
  const from = (path: string) => normalize(join(dirname(file), path))
  const listed = [...text.matchAll(/^(?:import|export)\s[^'"{]*\{([^}]*)\}\s*from '(\.[^']+)'/gm)].flatMap(
    ([, names = '', path = '']) =>
      names.split(',').map(
        (name) =>
          `${from(path)}: ${
            name
              .trim()
              .replace(/^type /, '')
              .split(' as ')[0] ?? ''
          }`,
      ),
  )
  const whole = [...text.matchAll(/^import \* as (\w+) from '(\.[^']+)'/gm)].flatMap(([, alias = '', path = '']) =>
    [...text.matchAll(new RegExp(`\\b${alias}\\.(\\w+)`, 'g'))].map(([, name = '']) => `${from(path)}: ${name}`),
  )
  const awaited = /(?:\{([^{}]*)\} = )?\(?await import\('(\.[^']+)'\)\)?(?:\.(\w+))?/g
  const later = [...text.matchAll(awaited)].flatMap(([, names = '', path = '', name = '']) =>
    [name, ...names.split(',')].map((one) => `${from(path)}: ${one.trim()}`),
  )
  return [...listed, ...whole, ...later]
}

describe('time, randomness and environment', () => {
  test('only config.ts reads the environment', () => {
    assert.deepEqual(linesWith(/\bprocess\.env\b/, outside('src/core/config.ts')), [])
  })

  test('only clock.ts asks for the time of day', () => {
    assert.deepEqual(linesWith(/\bDate\.now\(|\bnew Date\(\)/, outside('src/core/clock.ts')), [])
  })

  test('only random.ts makes randomness', () => {
    assert.deepEqual(linesWith(/\bMath\.random\b|\brandomBytes\(|\brandomUUID\(/, outside('src/core/random.ts')), [])
  })
})

const FILES_PER_FOLDER_MAX = 18
// The parts of the core that are a file each, and that everything else stands on.
const FILES_MAX: Readonly<Record<string, number>> = { 'src/core': 24 }

describe('files', () => {
  test('every file of src is reached from the command line, or from the one file of a worker', () => {
    const reached = new Set<string>()
    const visit = (file: string) => {
      if (reached.has(file)) return
      reached.add(file)
      importsOf(file).forEach(visit)
    }
    visit('src/cli/main.ts')
    visit('src/cli/pool/standalone-worker.ts')

    assert.deepEqual(
      production.filter((file) => !reached.has(file)),
      [],
    )
  })

  test('a folder fits on a screen', () => {
    const counts = new Map<string, number>()
    for (const file of production) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
    assert.deepEqual(
      [...counts].filter(([folder, count]) => count > (FILES_MAX[folder] ?? FILES_PER_FOLDER_MAX)),
      [],
    )
  })

  test('names are in kebab-case and say what they hold', () => {
    const misnamed = sources.filter((file) => !/^[a-z0-9-]+(\.test|\.d)?\.ts$/.test(file.split('/').at(-1) ?? ''))
    const vague = sources.filter((file) => /\/(utils?|common|helpers?|manager|misc)\.ts$/.test(file))

    assert.deepEqual([...misnamed, ...vague], [])
  })

  test('there is no default export and no bare TODO', () => {
    assert.deepEqual(linesWith(/^export default\b/, production), [])
    assert.deepEqual(
      production.filter((file) => /\b(TODO|FIXME|XXX)\b/.test(readSource(file))),
      [],
    )
  })

  test('migrations are numbered from 001 with no gap', () => {
    const folders = new Map<string, string[]>()
    for (const file of filesIn('src').filter((name) => name.endsWith('.sql'))) {
      folders.set(dirname(file), [...(folders.get(dirname(file)) ?? []), file.split('/').at(-1) ?? ''])
    }
    for (const [folder, names] of folders) {
      const numbers = names.sort().map((name) => Number(name.match(/^(\d{3})_\w+\.sql$/)?.[1]))
      assert.deepEqual(
        numbers,
        names.map((_, index) => index + 1),
        folder,
      )
    }
  })
})

describe('documents', () => {
  test('every setting is in docs/settings.md with its default, and no other', () => {
    const documented = new Map(
      [...readFileSync('docs/settings.md', 'utf8').matchAll(/^\| `([A-Z0-9_]+)` \| (.*?) \|/gm)].map((match) => [
        match[1],
        match[2],
      ]),
    )
    const real = Object.entries({ ...CORE_SETTINGS, ...doorSettings() }).map(([name, { or }]) => {
      const shown = Array.isArray(or) ? or.join(',') : String(or)
      return [name, shown === '' ? '' : `\`${shown}\``]
    })
    assert.deepEqual([...documented].sort(), real.sort())
  })

  test('the README and the documents link only to files that exist', () => {
    const pages = ['README.md', 'CONTRIBUTING.md', ...filesIn('docs').filter((file) => file.endsWith('.md'))]
    const broken = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
        .map((match) => normalize(join(dirname(page), match[1] ?? '')))
        .filter((target) => !exists(target))
        .map((target) => `${page} → ${target}`),
    )
    assert.deepEqual(broken, [])
  })
})

describe('clauses', () => {
  // Doors whose document numbers its clauses. A title of a test begins with the clause: "pool 4.3: a late submit gets 409".
  const DOORS = ['judge', 'challenge', 'pool', 'arena', 'desk']
  const CLAUSE = /^(?:[-*] |\d+\. |\| )?\*\*(\d+\.\d+|[A-Z]+-?\d*)\*\*/gm
  const tests = filesIn('test').filter((file) => isCode(file))

  for (const door of DOORS) {
    const document = readFileSync(`docs/${door}.md`, 'utf8')
    const clauses = new Set([...document.matchAll(CLAUSE)].map((match) => match[1] ?? ''))
    const titled = new Map<string, string>()
    for (const file of tests) {
      const titles = readFileSync(file, 'utf8').matchAll(
        new RegExp(`['"\`]${door} ((?:\\d+\\.\\d+|[A-Z]+-?\\d*)(?:, (?:\\d+\\.\\d+|[A-Z]+-?\\d*))*):`, 'g'),
      )
      for (const [, list = ''] of titles) for (const clause of list.split(', ')) titled.set(clause, file)
    }

    test(`every clause of docs/${door}.md has a test, and every title a clause`, () => {
      assert(clauses.size > 0)
      assert.deepEqual(
        {
          untested: [...clauses].filter((clause) => !titled.has(clause)),
          unwritten: [...titled].filter(([clause]) => !clauses.has(clause)),
        },
        { untested: [], unwritten: [] },
      )
    })
  }

  test('no comment speaks of a contract: it names the clause of a document', () => {
    assert.deepEqual(
      production.filter((file) => /\bcontracts?\b/i.test(readSource(file))),
      [],
    )
  })
})

function exists(path: string): boolean {
  try {
    return readdirSync(dirname(path)).includes(
      path
        .split('/')
        .filter((part) => part !== '')
        .at(-1) ?? '',
    )
  } catch {
    return false
  }
}

describe('lock files', () => {
  for (const file of ['package-lock.json', 'bench/package-lock.json']) {
    test(`every package of ${file} has a hash and no address`, () => {
      const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(readFileSync(file, 'utf8'))
      const installed = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link)

      assert(installed.length > 0)
      assert.deepEqual(
        installed.filter(([, { integrity, resolved }]) => integrity === undefined || resolved !== undefined),
        [],
      )
    })
  }
})

interface LockedPackage {
  link?: boolean
  integrity?: string
  resolved?: string
}

describe('metrics', () => {
  // Each distinct value of a label is a time series that lives for ever.
  const LABELS = [
    'status',
    'reason',
    'kind',
    'outcome',
    'method',
    'route',
    'result',
    'verdict',
    'stream',
    'topic',
    'state',
    'table',
    'pool',
    'part',
  ]

  test('labels have few values: none carries an id', () => {
    const used = production.flatMap((file) =>
      [...readSource(file).matchAll(/labelNames: \[([^\]]*)\]/g)].flatMap((match) =>
        [...(match[1] ?? '').matchAll(/'(\w+)'/g)].map((name) => name[1]),
      ),
    )
    assert(used.length > 0)
    assert.deepEqual(
      used.filter((name) => name === undefined || !LABELS.includes(name)),
      [],
    )
  })
})
