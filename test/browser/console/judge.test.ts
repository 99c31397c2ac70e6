// The judge’s pages: a problem read and solved, a package imported, submissions compared and judged again.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { cannotTest } from '../../judge/rig.ts'
import { NO_BROWSER } from '../../support/browser.ts'
import { tokenOf } from '../../support/reeve.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { packageFiles, packageOf } from '../../support/zip.ts'
import { checkLooks, hostileUnlessPictured, openConsole, takePicture, type ConsoleWorld } from './console.ts'

const MARKDOWN = `# Twice

Read $n$ with $1 \\le n \\le 10^9$ and print $2n$.

| what | how |
|---|---|
| ${hostileUnlessPictured('<script>alert(1)</script>', 'as a sum')} | $$\\sum_{i=1}^{n} 2$$ |

![Two of it](two.svg) ![Not there](https://elsewhere.example/x.png)
`
const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="40" fill="#2f6fbf"><path d="M0 4h40v12H0zM0 24h80v12H0z" /></svg>'
const LATEX = `\\problemname{Twice in \\LaTeX}
Print \\textbf{twice} the number $n \\le 10^9$. \\strangemacro
\\section*{Input}
One number. \\includegraphics[width=1cm]{two}
\\begin{itemize} \\item It is \\emph{positive}. \\end{itemize}
`
/** Long: no program is out of time because this machine pauses. */
const PATIENT = 'name: Twice\nlimits:\n  time_limit: 10\n  memory: 256\n'
const WRONG = 'print(int(input()) + 21)\nprint("more")\n'
const RIGHT = 'print(2 * int(input()))\n'

const OPTIONS = {
  doors: 'judge',
  env: { JUDGE_SLOTS: '2', JUDGE_LANGUAGES_FILE: '' },
}

async function openJudge(t: TestContext): Promise<ConsoleWorld | null> {
  const folder = await temporaryFolder(t)
  const languages = join(folder, 'languages.json')
  await writeFile(languages, JSON.stringify({ java: null, javascript: null, rust: null, cpp: null }))
  const world = await openConsole(t, { ...OPTIONS, env: { ...OPTIONS.env, JUDGE_LANGUAGES_FILE: languages } })
  if (world === null) return null
  await put(
    world,
    'twice',
    packageFiles({
      'problem.yaml': PATIENT,
      'statement/problem.en.md': MARKDOWN,
      'statement/two.svg': PICTURE,
    }),
  )
  await put(
    world,
    'latex',
    packageFiles({
      'problem_statement/problem.en.tex': LATEX,
      'problem_statement/two.svg': PICTURE,
      'problem.yaml': 'name: In LaTeX\n',
    }),
  )
  return world
}

async function put({ url }: ConsoleWorld, id: string, files: Record<string, string>): Promise<void> {
  const { token } = await tokenOf(url, 'admin')
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/zip' }
  const answer = await fetch(`${url}/problems/${id}`, { method: 'PUT', headers, body: packageOf(files) })
  assert.equal(answer.status, 201, await answer.text())
}

async function loaded(page: Page, name: string): Promise<void> {
  const picture = page.getByRole('img', { name })
  await picture.scrollIntoViewIfNeeded()
  await picture.evaluate('(image) => image.decode()')
}

/** Replaces what is in the editor. */
async function type(page: Page, code: string): Promise<void> {
  const editor = page.getByRole('textbox', { name: 'Program' })
  await editor.click()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Delete')
  await page.keyboard.insertText(code)
}

describe('the judge’s pages', { skip: cannotTest }, () => {
  test('a contestant reads a problem, fails a sample, sees why, and solves it', async (t) => {
    const world = await openJudge(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'ann', roles: ['CLIENT'], path: '/console/judge' })
    await page.getByRole('row', { name: /Twice/ }).first().waitFor()
    await takePicture(page, 'judge-problems')
    await page.getByRole('row', { name: /Twice/ }).first().dblclick()
    await page.getByRole('heading', { name: 'Twice', level: 1 }).waitFor()
    await page.locator('.katex').first().waitFor()
    assert.equal(await page.locator('main script').count(), 0, 'hostile text is text')
    await loaded(page, 'Two of it')
    await page.getByText('Not there').waitFor()
    assert.equal(await page.locator('main img').count(), 1, 'nothing is loaded from elsewhere')
    await page.getByLabel('Language').selectOption('python3')

    await type(page, WRONG)
    await page.keyboard.press('Control+Enter')
    const verdict = page.getByRole('region', { name: 'Verdict' })
    await verdict.getByText('Wrong Answer').first().waitFor()
    const sample = page.getByRole('region', { name: 'First failing sample' })
    await sample.getByText('+ more').waitFor()
    await checkLooks(page)
    await takePicture(page, 'judge-problem')

    await page.reload()
    await verdict.getByText('Wrong Answer').first().waitFor()
    await type(page, RIGHT)
    await page.getByRole('button', { name: 'Submit' }).click()
    await verdict.getByRole('status').getByText('Accepted').waitFor()
    await verdict
      .getByRole('listitem')
      .filter({ hasText: /secret\/2: Accepted, .* ms/ })
      .waitFor()
    assert.equal(await verdict.getByRole('listitem').count(), 3, 'a square per test')
    assert.match((await verdict.getByRole('listitem').last().textContent()) ?? '', /secret\/2: Accepted, .* ms/)

    await page.getByRole('link', { name: 'Submissions' }).click()
    await page.getByRole('row', { name: /Accepted/ }).waitFor()
    await page.getByRole('row', { name: /Wrong Answer/ }).waitFor()
    await checkLooks(page)
    await takePicture(page, 'judge-submissions')
    return undefined
  })

  test('a program runs on an input of one’s own', async (t) => {
    const world = await openJudge(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'ann', roles: ['CLIENT'], path: '/console/judge/problems/twice' })
    await page.getByLabel('Language').selectOption('python3')
    await type(page, RIGHT)

    await page.getByText('Run with your own input').click()
    await page.getByLabel('Your own input').fill('350')
    await page.getByRole('button', { name: 'Run', exact: true }).click()

    const output = page.getByRole('region', { name: 'Output', exact: true })
    await output.getByText('700').waitFor()
    await page.getByText('Finished').waitFor()
    return undefined
  })

  test('two submissions are compared, and an admin has one judged again', async (t) => {
    const world = await openJudge(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { token } = await tokenOf(world.url, 'admin')
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const submit = async (code: string): Promise<string> => {
      const body = JSON.stringify({ problem_id: 'twice', language: 'python3', code })
      const answer: unknown = await (await fetch(`${world.url}/submit`, { method: 'POST', headers, body })).json()
      assert(typeof answer === 'object' && answer !== null && 'job_id' in answer)
      return String(answer.job_id)
    }
    const first = await submit(WRONG)
    const second = await submit(RIGHT)
    const page = await world.visit({ as: 'admin', path: `/console/judge/submissions/${second}` })
    await page.getByText('Accepted').first().waitFor()

    await page.getByLabel('Compare with').selectOption(first)
    await page.getByText('− print("more")').waitFor()
    await checkLooks(page)
    await takePicture(page, 'judge-difference')
    await page.reload()
    await page.getByText('− print("more")').waitFor()

    await page.getByRole('button', { name: 'Judge again' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Judge again' }).click()
    await page.waitForURL((url) => !url.pathname.endsWith(second))
    await page.getByText('Accepted').first().waitFor()
    await page.goto(`${world.origin}/console/judge/submissions`)
    await page.getByText('judged again').waitFor()
    return undefined
  })

  test('an admin imports a package, and is told what is wrong with another one', async (t) => {
    const world = await openJudge(t)
    if (world === null) return t.skip(NO_BROWSER)
    const folder = await temporaryFolder(t)
    const [good, bad] = [join(folder, 'Sum of two.zip'), join(folder, 'bad.zip')]
    await writeFile(good, packageOf(packageFiles({ 'problem.yaml': 'name: A sum\n' })))
    await writeFile(
      bad,
      packageOf(packageFiles({ 'problem.yaml': 'validation: custom\n', 'output_validators/v.c': 'int main(' })),
    )
    const page = await world.visit({ as: 'admin', path: '/console/judge/import' })

    await page.getByLabel('Package').setInputFiles(bad)
    await page.getByRole('button', { name: 'Import' }).click()
    await page.getByText(/does not compile/).waitFor()
    await checkLooks(page)
    await takePicture(page, 'judge-import')
    await page.getByLabel('Package').setInputFiles(good)
    assert.equal(await page.getByLabel('Problem id').inputValue(), 'Sum-of-two')
    await page.getByRole('button', { name: 'Import' }).click()
    await page.getByText('Imported').waitFor()
    await page.getByRole('link', { name: 'Open the problem' }).click()

    await page.getByRole('heading', { name: 'A sum', level: 1 }).waitFor()
    return undefined
  })

  test('LaTeX is shown with its formulas, an unknown macro as its source, on a phone', async (t) => {
    const world = await openJudge(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({
      as: 'ann',
      roles: ['CLIENT'],
      width: 'phone',
      scheme: 'dark',
      path: '/console/judge/problems/latex',
    })

    await page.locator('.katex').first().waitFor()
    await page.getByText('\\strangemacro').waitFor()
    await page.getByRole('heading', { name: 'Input', exact: true }).waitFor()
    await page.locator('em', { hasText: 'positive' }).waitFor()
    await loaded(page, 'two.svg')
    await checkLooks(page)
    await takePicture(page, 'judge-phone')
    return undefined
  })

  test('the connection is lost while a program is judged: the verdict comes when it is back, in the list as well', async (t) => {
    const world = await openJudge(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'ann', roles: ['CLIENT'], path: '/console/judge/problems/twice' })
    await page.getByLabel('Language').selectOption('python3')
    const list = await world.visit({ as: 'ann', path: '/console/judge/submissions' })
    await list.getByText('live', { exact: true }).waitFor()
    await list.reload()
    await list.getByText('live', { exact: true }).waitFor()
    await type(page, 'import time\ntime.sleep(1)\nprint(2 * int(input()))\n')

    await page.getByRole('button', { name: 'Submit' }).click()
    const verdict = page.getByRole('region', { name: 'Verdict' })
    await verdict.getByRole('status').getByText('Running').waitFor()
    world.network.partition()
    const { token } = await tokenOf(world.url, 'ann')
    const headers = { authorization: `Bearer ${token}` }
    const listed = async () => (await fetch(`${world.url}/submissions`, { headers })).text()
    await until('it is accepted', async () => (await listed()).includes('"AC"'), listed)
    world.network.heal()

    await verdict.getByRole('status').getByText('Accepted').waitFor({ timeout: 180_000 })
    await list.getByRole('row', { name: /Accepted/ }).waitFor({ timeout: 180_000 })
    return undefined
  })
})
