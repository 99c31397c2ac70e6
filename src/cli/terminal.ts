// What a person sees. Colours and progress only on a terminal; `--json` is for programs.
import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

export const isTerminal = process.stdout.isTTY === true

export const styled = (style: Style, text: string): string => (isTerminal ? styleText(style, text) : text)

export const print = (line = ''): void => {
  process.stdout.write(`${line}\n`)
}

/** Beside the output: what a program that reads it should not get. */
export const say = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

export const printJson = (value: unknown): void => print(JSON.stringify(value, null, isTerminal ? 2 : undefined))

/** Columns as wide as their widest cell. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  print(styled('bold', line(header)))
  for (const row of rows) print(line(row))
}

/** 1 test, 2 tests. */
export const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** Control characters of a stranger's text must not reach the terminal. */
// oxlint-disable-next-line no-control-regex
export const plain = (text: string): string => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
