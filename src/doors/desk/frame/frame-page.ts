// The frame's own pages: for a task that is never fetched, a domain that is not on the list, a site that does not answer. The text
// of a task is shown as text.
import { html, type Html } from '../../../core/pages/html.ts'
import type { TaskRow } from '../tasks/task.ts'

const page = (title: string, body: Html): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title}</title>
        <style>
          body {
            font:
              15px/1.5 system-ui,
              sans-serif;
            margin: 2rem;
            max-width: 45rem;
            overflow-wrap: anywhere;
          }
          dt {
            color: #57606a;
          }
          dd {
            margin: 0 0 0.6rem;
            white-space: pre-wrap;
          }
        </style>
      </head>
      <body>
        <h1>${title}</h1>
        ${body}
      </body>
    </html>`.text

/** What is known of a task, for those that have no page to show. */
export function taskPage(task: TaskRow): string {
  const lines: readonly (readonly [name: string, value: string | null])[] = [
    ['Address', task.url],
    ['Domain', task.domain],
    ['Kind', task.challenge_type],
    ['Question', task.form?.question ?? null],
    ['What the program met', task.error_message],
    ['Request', task.request_id],
    ['User agent', task.user_agent],
    ['Further', Object.keys(task.metadata).length === 0 ? null : JSON.stringify(task.metadata, null, 2)],
  ]
  const shown = lines.flatMap(([name, value]) =>
    value === null
      ? []
      : [
          html`<dt>${name}</dt>
            <dd>${value}</dd>`,
        ],
  )
  return page(
    'There is no page to show',
    html`<p>
        The names of this task's domain are reserved for examples: nothing is fetched from there. What the program said
        about it:
      </p>
      <dl>${shown}</dl>`,
  )
}

export const notePage = (title: string, text: string): string => page(title, html`<p>${text}</p>`)
