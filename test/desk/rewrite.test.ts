import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import {
  domainOf,
  entriesFor,
  isReserved,
  parseDomain,
  parseEntry,
  parsePage,
} from '../../src/doors/desk/domains/domain.ts'
import { parseSetCookie } from '../../src/doors/desk/frame/cookie-jar.ts'
import { framed, restOf, unframed } from '../../src/doors/desk/frame/frame-url.ts'
import { PAGE_SCRIPT } from '../../src/doors/desk/frame/page-script.ts'
import { rewriteCss } from '../../src/doors/desk/frame/rewrite-css.ts'
import { isTooDeep, rewriteHtml } from '../../src/doors/desk/frame/rewrite-html.ts'
import { cases } from '../support/size.ts'
import { startProcessorTimer } from '../support/processor-time.ts'

const PAGE = new URL('https://shop.org/a/b?c')
const lead = (url: URL) => (url.host === 'shop.org' ? `/F${url.pathname}${url.search}` : null)
/** Without what the frame puts before it. */
const html = async (text: string) =>
  (await rewriteHtml(text, { page: PAGE, lead, base: null })).replace(PAGE_SCRIPT, '')

describe('rewriting a page', () => {
  test('rewrites addresses on the list to the frame, and makes all others absolute', async () => {
    const cases: [string, string][] = [
      ['<a href="/x">', '<a href="/F/x">'],
      ['<a href=x>', '<a href="/F/a/x">'],
      ['<a href="//shop.org/y">', '<a href="/F/y">'],
      ['<a href="#top">', '<a href="#top">'],
      ['<a href="">', '<a href="">'],
      ['<a href="https://other.org/x">', '<a href="https://other.org/x">'],
      ['<a href="//other.org/x">', '<a href="https://other.org/x">'],
      ['<a href="javascript:go()">', '<a href="javascript:go()">'],
      ['<img src="data:image/png;base64,AA">', '<img src="data:image/png;base64,AA">'],
      ['<form action="/go"><button formaction="/b">', '<form action="/F/go"><button formaction="/F/b">'],
      ['<svg><use xlink:href="/s.svg#i"></svg>', '<svg><use href="/F/s.svg"></svg>'],
      ['<link rel=stylesheet href="/s.css" integrity="sha256-x">', '<link rel="stylesheet" href="/F/s.css">'],
      ['<script src="/s.js" integrity="sha256-x"></script>', '<script src="/F/s.js" integrity="sha256-x"></script>'],
      ['<meta http-equiv="refresh" content="5; url=/next">', '<meta http-equiv="refresh" content="5; url=/F/next">'],
      [`<meta http-equiv="refresh" content="0;URL='/a b' x">`, `<meta http-equiv="refresh" content="0;URL=/F/a%20b">`],
      ['<meta http-equiv="refresh" content=" 5 ">', '<meta http-equiv="refresh" content=" 5 ">'],
      ['<meta http-equiv="x-frame-options" content="DENY"><p>', '<p>'],
      ['<meta http-equiv="Set-Cookie" content="a=b"><p>', '<p>'],
      ['<base href="/deep/er/"><a href="x">', '<base href="/F/deep/er/"><a href="/F/deep/er/x">'],
      ['<script type=" Module" src="/m.js">', '<script type=" Module" src="/F/m.js" crossorigin="use-credentials">'],
      ['<link rel="modulepreload" href="#">', '<link rel="modulepreload" href="#" crossorigin="use-credentials">'],
      ['<img crossorigin src="/i">', '<img src="/F/i" crossorigin="use-credentials">'],
      ['<style>a{b:url(/c)}</style><p>', '<style>a{b:url("/F/c")}</style><p>'],
      ['<textarea><a href="/x"></textarea>', '<textarea><a href="/x"></textarea>'],
      ['<!-- <a href="/x"> --><p>&amp;</p>', '<!-- <a href="/x"> --><p>&amp;</p>'],
    ]

    for (const [before, after] of cases) assert.equal(await html(before), after)
  })

  test('puts its script and its base before the first thing that could need it', async () => {
    const withBase = (text: string) => rewriteHtml(text, { page: PAGE, lead, base: '/F/a/b?c&"d' })
    const base = `${PAGE_SCRIPT}<base href="/F/a/b?c&amp;&quot;d">`

    assert.equal(await withBase('<!doctype html><html><head><title>T'), `<!doctype html><html><head>${base}<title>T`)
    assert.equal(await withBase('<img src="/x">'), `${base}<img src="/F/x">`)
  })

  test('never fails, whatever the page is', async () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '"',
      "'",
      '=',
      '/',
      ' ',
      'a',
      'style',
      '<style>',
      '</style>',
      '<a href=',
      'url(',
      ')',
      '<!--',
      '-->',
      '<script>',
      '</script>',
      '\0',
      '\u{1F355}',
      '&',
      ';',
      '<base href="',
      '<meta http-equiv=refresh content="',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 60 }), async (pieces) => {
        const out = await html(pieces.join(''))
        return typeof out === 'string'
      }),
      { numRuns: cases(500) },
    )
  })

  test('takes time in proportion to the page, and lets others have their turn', async () => {
    const page = '<a href="/x" style="background:url(/y)">'.repeat(50_000)
    let turns = 0
    const timer = setInterval(() => (turns += 1), 1)

    const out = await html(page)
    clearInterval(timer)

    assert.equal(out.length, '<a href="/F/x" style="background:url(&quot;/F/y&quot;)">'.length * 50_000)
    assert(turns > 5, `${turns}`)
  })

  test('takes linear time for a hostile refresh, and finds SVG that is nested too deep', async () => {
    const spaces = ' '.repeat(100_000)

    for (const content of [`5${spaces}'`, `5;${spaces}url${spaces}=${spaces}'x`, `5${spaces};${spaces}"`]) {
      const processorMs = startProcessorTimer()
      await html(`<meta http-equiv="refresh" content='${content.replaceAll("'", '&apos;')}'>`)
      assert(processorMs() < 2000, content.slice(0, 20))
    }
    assert.deepEqual(['<svg></svg>'.repeat(5000), '<SVG><math>'.repeat(2501), '<svgs>'.repeat(9000)].map(isTooDeep), [
      false,
      true,
      false,
    ])
  })
})

describe('rewriting a style sheet', () => {
  const css = (text: string) => rewriteCss(text, (address) => (address.startsWith('/') ? `/F${address}` : address))

  test('rewrites url() and @import to the frame', () => {
    assert.equal(css(`a{b:url(/c)}`), `a{b:url("/F/c")}`)
    assert.equal(css(`a{b:url( '/c' )}`), `a{b:url("/F/c")}`)
    assert.equal(css(`@import "/c.css";@import url(/d.css);`), `@import "/F/c.css";@import url("/F/d.css");`)
    assert.equal(css(`a{b:url(c.png);d:URL("e")}`), `a{b:url(c.png);d:URL("e")}`)
  })

  test('takes linear time for a hostile style sheet', () => {
    const spaces = ' '.repeat(500_000)
    const repeated = ['url(', 'url("', "url('", 'url( ', '@import ', '@import "', 'url(url('].map((text) =>
      text.repeat(100_000),
    )
    for (const text of [...repeated, `url(${spaces}`, `url(${spaces}"`, `url(a${spaces}`, `@import${spaces}`]) {
      const processorMs = startProcessorTimer()
      css(text)
      assert(processorMs() < 2000, text.slice(0, 20))
    }
  })
})

describe('the place of a page in the frame', () => {
  const place = { uuid: 'u', depth: 'page' as const }

  test('an address that is framed and unframed is the same address', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true }), (text) => {
        const url = new URL(text)
        const path = framed(place, url)
        const [, , , , scheme = '', host = ''] = path.split('/')
        assert.equal(unframed(scheme, host, restOf(path))?.url.href, url.href)
      }),
    )
  })

  test('an invalid scheme or host has no address', () => {
    for (const [scheme, host] of [
      ['ftp', 'a.org'],
      ['constructor', 'a.org'],
      ['https', ''],
      ['https', 'a b'],
      ['https', 'user@a.org'],
      ['https', 'a.org\\b'],
    ] as const)
      assert.equal(unframed(scheme, host, '/'), null, `${scheme} ${host}`)
  })
})

describe('a cookie of the page', () => {
  const NOW = new Date('2026-01-01T00:00:00Z')
  const parse = (line: string, url = 'https://www.shop.org/a/b') => parseSetCookie(line, new URL(url), NOW)

  test('is read as a browser reads it', () => {
    assert.deepEqual(parse('a=1; Domain=.shop.org; Path=/x; Secure; HttpOnly; SameSite=Lax; Max-Age=60'), {
      name: 'a',
      value: '1',
      domain: 'shop.org',
      hostOnly: false,
      path: '/x',
      secure: true,
      httpOnly: true,
      sameSite: 'Lax',
      expiresAt: new Date('2026-01-01T00:01:00Z'),
    })
    assert.deepEqual([parse('a=b=c')?.value, parse('a=b=c')?.path, parse('a=b=c')?.hostOnly], ['b=c', '/a', true])
    assert.deepEqual(parse('a=1; Expires=Thu, 01 Jan 2026 00:00:10 GMT')?.expiresAt, new Date('2026-01-01T00:00:10Z'))
  })

  test('that is for another host or invalid is not kept', () => {
    for (const line of [
      '',
      'a',
      '=1',
      'a b=1',
      'a=1; Domain=other.org',
      'a=1; Domain=org',
      'a=1; Domain=w.shop.org',
      `a=${'x'.repeat(9000)}`,
      'a=\u0007',
    ])
      assert.equal(parse(line), null, line.slice(0, 40))
  })
})

describe('domains', () => {
  test('are hosts and nothing else', () => {
    const plain: [string, string | null][] = [
      ['Shop.ORG', 'shop.org'],
      ['shop.org.', 'shop.org'],
      ['shop.org:443', 'shop.org'],
      ['shop.org:80', 'shop.org'],
      ['shop.org:8443', 'shop.org:8443'],
      ['bücher.org', 'xn--bcher-kva.org'],
      ['[::1]:8080', '[::1]:8080'],
      ['127.0.0.1', '127.0.0.1'],
      ['', null],
      ['a/b', null],
      ['a@b', null],
      ['a b', null],
      ['a?b', null],
      ['*.shop.org', null],
      ['-.org', null],
      ['x'.repeat(300), null],
    ]
    for (const [text, domain] of plain) assert.equal(parseDomain(text), domain, text)
    assert.equal(domainOf('HTTPS://Shop.org:443/x?y'), 'shop.org')
    assert.equal(parsePage('https://shop.org:99999/'), null)
  })

  test('an entry of the list names a host, or all hosts below one', () => {
    assert.deepEqual(['shop.org', '*.shop.org', '*.a.shop.org'].map(parseEntry), [
      'shop.org',
      '*.shop.org',
      '*.a.shop.org',
    ])
    assert.deepEqual(['*', '*.org', '*.*.org', '*shop.org', '*.[::1]'].map(parseEntry), [null, null, null, null, null])
    assert.deepEqual(entriesFor('a.b.shop.org:8443'), ['a.b.shop.org:8443', '*.b.shop.org:8443', '*.shop.org:8443'])
    assert.deepEqual(entriesFor('shop.org'), ['shop.org'])
  })

  test('reserved names are those of the standard, at any depth and port', () => {
    for (const name of [
      'example.com',
      'a.example.org',
      'example.net:8080',
      'test',
      'a.test',
      'example',
      'shop.example',
    ])
      assert(isReserved(name), name)
    for (const name of ['example.co', 'myexample.com', 'test.org', 'example.com.org', 'localhost'])
      assert(!isReserved(name), name)
  })
})
