// `reeve verify receipt FILE`: verifies receipts of the pool and the links between them, without a server. `--chain` also
// requires that none is missing, up to the heads that were kept.
import { isObject } from '../../core/values/is-object.ts'
import {
  problemWithChain,
  problemWithHead,
  problemWithReceipt,
  problemWithWholeChain,
  type Receipt,
  type ReceiptHead,
} from '@reeve/sdk/pool'
import type { Command } from 'commander'
import { CommandFailed } from '../failure.ts'
import { readText } from '../read-input.ts'
import { plain, print, say, styled } from '../terminal.ts'

interface ReceiptOptions {
  key?: string
  chain?: boolean
  head: string[]
}

export function addVerifyReceiptCommand(verify: Command): void {
  verify
    .command('receipt')
    .description('verify receipts of the pool offline: one, a list, or one per line')
    .argument('<file>', 'a file, or - for standard input')
    .option('--key <public_key>', 'the server’s public key, as GET /v1/receipts/key gives it')
    .option('--chain', 'the file holds the whole chain: fail if a receipt is missing')
    .option(
      '--head <file>',
      'with --chain: a head from GET /v1/receipts/head that the chain must contain; repeatable',
      (file: string, files: string[]) => [...files, file],
      [],
    )
    .action(verifyReceipts)
}

function verifyReceipts(file: string, { key, chain, head }: ReceiptOptions): void {
  if (head.length > 0 && chain !== true) throw new CommandFailed('--head needs --chain.', 2)
  const receipts = receiptsIn(readText(file))
  const [first] = receipts
  if (first === undefined) throw new CommandFailed(`There is no receipt in ${plain(file)}.`, 2)
  const publicKey = key?.replace(/={1,2}$/, '') ?? first.receipt.key_id
  if (key === undefined) {
    say(
      `Checked with the key that the receipt itself names, ${plain(publicKey)}: compare it with the server's, or use --key.`,
    )
  }
  for (const receipt of receipts) {
    const problem = problemWithReceipt(receipt, publicKey)
    if (problem !== null) throw new CommandFailed(`Receipt ${receipt.receipt.number} ${plain(problem)}.`)
  }
  const heads = head.map(headIn)
  for (const one of heads) {
    const problem = problemWithHead(one, publicKey)
    if (problem !== null) throw new CommandFailed(`The head of size ${one.size} ${plain(problem)}.`)
  }
  const broken = chain === true ? problemWithWholeChain(receipts, heads) : problemWithChain(receipts)
  if (broken !== null) throw new CommandFailed(`The chain is broken: ${plain(broken)}.`)
  print(styled('green', receipts.length === 1 ? 'The receipt verifies.' : `${receipts.length} receipts verify.`))
}

/** As the server sends them, `{receipts: […]}`, or a list, or one, or one a line. */
function receiptsIn(text: string): Receipt[] {
  const whole = parsed(text)
  const lines =
    whole === undefined
      ? text
          .split('\n')
          .filter((line) => line.trim() !== '')
          .map(parsed)
      : [whole]
  const items = lines.flatMap((value) => {
    if (Array.isArray(value)) return value
    return isObject(value) && Array.isArray(value['receipts']) ? value['receipts'] : [value]
  })
  if (!items.every(isReceipt)) throw new CommandFailed('The file does not hold receipts.', 2)
  return items
}

function headIn(file: string): ReceiptHead {
  const value = parsed(readText(file))
  if (!isHead(value)) throw new CommandFailed(`There is no head in ${plain(file)}.`, 2)
  return value
}

const isHead = (value: unknown): value is ReceiptHead =>
  isObject(value) &&
  Number.isSafeInteger(value['size']) &&
  ['hash', 'key_id', 'signature'].every((name) => typeof value[name] === 'string')

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isReceipt(value: unknown): value is Receipt {
  if (!isObject(value) || !isObject(value['receipt'])) return false
  const { signed, number, key_id: keyId } = value['receipt']
  const isText = (item: unknown) => typeof item === 'string'
  return (
    isText(value['hash']) &&
    isText(value['signature']) &&
    isText(keyId) &&
    typeof number === 'number' &&
    isObject(signed)
  )
}
