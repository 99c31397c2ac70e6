// An upload of the smallest problem, as an admin makes it.
import { tokenOf } from '../support/reeve.ts'
import { zipOf } from '../support/zip.ts'

export async function uploader(url: string): Promise<() => Promise<Response>> {
  const { token } = await tokenOf(url, 'admin')
  return () =>
    fetch(`${url}/problems/p`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/zip' },
      body: zipOf([
        { name: 'problem.yaml', content: 'name: P' },
        { name: 'data/secret/1.in' },
        { name: 'data/secret/1.ans' },
      ]),
    })
}
