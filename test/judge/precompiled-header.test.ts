// <bits/stdc++.h>, which most C++ programs of contests include, is compiled once for each language.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withHelper } from '../support/judge-cache.ts'
import { temporaryFolder } from '../support/servers.ts'
import { judge, openTestWorker } from './judge-worker.ts'
import { noBoxes } from './rig.ts'

/** A program that doubles a number. */
const cpp = (...headers: string[]) => ({
  language: 'cpp',
  code: `${headers.map((header) => `#include ${header}\n`).join('')}int main() { int n; std::cin >> n; std::cout << 2 * n << "\\n"; }\n`,
})

describe('the worker', { skip: noBoxes }, () => {
  test('compiles <bits/stdc++.h> once, and gives the compiler the result', async (t) => {
    const telling = (command: readonly string[] = []) => [...command, '-H'] // g++ says which headers it reads
    const worker = await openTestWorker(t, {
      folder: await withHelper(await temporaryFolder(t)), // where there is none yet
      languages: (shipped) =>
        new Map(
          [...shipped]
            .filter(([id]) => id === 'cpp')
            .map(([id, language]) => [id, { ...language, compile: telling(language.compile) }]),
        ),
    })

    const judged = await judge(t, worker, {}, cpp('<bits/stdc++.h>'))

    assert.equal(judged.verdict, 'AC')
    assert.match(judged.compileOutput, /^! \/headers\/bits\/stdc\+\+\.h\.gch/)
    assert.doesNotMatch(judged.compileOutput, /\/usr\/include/)
  })

  test('compiles programs that include another header before <bits/stdc++.h>', async (t) => {
    const worker = await openTestWorker(t)
    const validator =
      'int main(int, char **v) { int a; std::cin >> a; int b; std::ifstream(v[2]) >> b; return a == b ? 42 : 43; }\n'
    const files = {
      'problem.yaml': 'validation: custom\n',
      'output_validators/check/check.cpp': `#include "common.h"\n${validator}`,
      'output_validators/check/common.h': '#pragma once\n#include <bits/stdc++.h>\n',
    }

    const judged = await judge(t, worker, files, cpp('<cstdio>', '<bits/stdc++.h>'))

    assert.deepEqual([judged.verdict, judged.compileOutput], ['AC', ''])
  })

  test('compiles programs that include <bits/stdc++.h> a second time through another header', async (t) => {
    const worker = await openTestWorker(t)

    const judged = await judge(t, worker, {}, cpp('<bits/stdc++.h>', '<bits/extc++.h>'))

    assert.deepEqual([judged.verdict, judged.compileOutput], ['AC', ''])
  })
})
