// How programs are built from several files: validators with modules, headers and scripts beside them, and submissions with the
// files that a package includes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { judge, openTestWorker } from './judge-worker.ts'
import { cannotTest } from './rig.ts'

const TWICE = 'print(2 * int(input()))\n'
const python = (code: string) => ({ language: 'python3', code })

describe('a program of several files', { skip: cannotTest }, () => {
  test('a validator of several files starts with its main file; with `run` alone it is not compiled', async (t) => {
    const worker = await openTestWorker(t)
    const check =
      'import sys\nfrom aside import twice\nsys.exit(42 if sys.stdin.read().split() == [str(twice(sys.argv[1]))] else 43)\n'
    const aside = 'def twice(path): return 2 * int(open(path).read())\n'
    const yaml = { 'problem.yaml': 'validation: custom\n' }
    const validators: Record<string, string>[] = [
      { '__init__.py': '', '__main__.py': check, 'aside.py': aside },
      { 'validate.py': check, 'aside.py': aside },
      { run: '#!/bin/sh\nexec python3 "$(dirname "$0")/validate.py" "$@"\n', 'validate.py': check, 'aside.py': aside },
    ]

    for (const files of validators) {
      const own = Object.fromEntries(Object.entries(files).map(([name, text]) => [`output_validators/v/${name}`, text]))
      const right = await judge(t, worker, { ...yaml, ...own }, python(TWICE))
      const wrong = await judge(t, worker, { ...yaml, ...own }, python('print(7)'))

      assert.deepEqual([right.verdict, wrong.verdict], ['AC', 'WA'], Object.keys(files).join())
    }
  })

  test('every submission of a language gets the files that the package includes', async (t) => {
    const worker = await openTestWorker(t)
    const files = { 'include/python3/tools.py': 'def twice(n): return 2 * n\n', 'include/c/tools.h': '#error\n' }

    const judged = await judge(t, worker, files, python('from tools import twice\nprint(twice(int(input())))\n'))

    assert.equal(judged.verdict, 'AC')
  })

  test('included files replace those of the submission, and a driver among them is started', async (t) => {
    const worker = await openTestWorker(t)
    const files = {
      'include/default/tools.py': 'def twice(n): return 0\n',
      'include/default/factor.txt': '2\n',
      'include/python3/tools.py':
        'import os\nfactor = int(open(os.path.join(os.path.dirname(__file__), "factor.txt")).read())\ndef twice(n): return factor * n\n',
      'include/python3/__main__.py': 'from main import solve\nprint(solve(int(input())))\n',
      'include/c/main.c': '#include <stdio.h>\nint main(void) { int n; scanf("%d", &n); printf("%d\\n", 2 * n); }\n',
    }

    const driven = await judge(t, worker, files, python('from tools import twice\ndef solve(n): return twice(n)\n'))
    const replaced = await judge(t, worker, files, { language: 'c', code: 'int main(void) { return 1; }\n' })

    assert.deepEqual([driven.verdict, replaced.verdict], ['AC', 'AC'])
  })
})
