// `reeve delivery`: signed requests of all doors, through the running server.
import type { Delivery } from '@reeve/sdk'
import type { Command } from 'commander'
import { positiveInteger } from './arguments.ts'
import { addRemoteOptions, withClient, type RemoteOptions } from './access/client.ts'
import { CommandFailed } from './failure.ts'
import { plain, print, printJson, printTable, say } from './terminal.ts'

const STATUSES = ['dead', 'pending', 'delivered'] as const satisfies readonly Delivery['status'][]

export function addDeliveryCommands(program: Command): void {
  const delivery = program
    .command('delivery')
    .description('list callbacks and other signed requests, and send dead letters again')
  const command = (name: string, about: string) => addRemoteOptions(delivery.command(name).description(about))

  command('list', 'list the newest deliveries, by default the dead letters')
    .option('--status <status>', `one of ${STATUSES.join(', ')}`, 'dead')
    .option('--topic <topic>', 'only deliveries of this topic')
    .option('--limit <n>', 'maximum number of deliveries', positiveInteger, 20)
    .action(list)
  command('show', 'show a delivery with its attempts')
    .argument('<delivery_id>', 'the number of the delivery', positiveInteger)
    .action(show)
  command('replay', 'send a dead letter again')
    .argument('<delivery_id>', 'the number of the delivery', positiveInteger)
    .action(replay)
}

async function list(options: RemoteOptions & { status: string; topic?: string; limit: number }): Promise<void> {
  const status = STATUSES.find((name) => name === options.status)
  if (status === undefined) {
    throw new CommandFailed(`Unknown status "${plain(options.status)}": expected ${STATUSES.join(', ')}.`, 2)
  }
  const filter = { status, limit: Math.min(options.limit, 200), ...(options.topic && { topic: options.topic }) }
  const deliveries = await withClient(options, (reeve) => reeve.deliveries.list(filter))
  if (options.json === true) return printJson(deliveries)
  if (deliveries.length === 0) return say('No deliveries.')
  printTable(
    ['DELIVERY', 'TOPIC', 'SUBJECT', 'STATUS', 'ATTEMPTS', 'ERROR', 'CREATED'],
    deliveries.map((one) =>
      [one.delivery_id, one.topic, one.subject, one.status, one.attempts, one.last_error ?? '', one.created_at]
        .map(String)
        .map(plain),
    ),
  )
}

async function show(deliveryId: number, options: RemoteOptions): Promise<void> {
  printJson(await withClient(options, (reeve) => reeve.deliveries.get(deliveryId)))
}

async function replay(deliveryId: number, options: RemoteOptions): Promise<void> {
  const answer = await withClient(options, (reeve) => reeve.deliveries.replay(deliveryId))
  if (options.json === true) printJson(answer)
  else print(`${answer.replayed.length} replayed.`)
}
