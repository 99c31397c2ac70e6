// A picture that a statement names: one of the package, or its name where the package has none. Nothing is loaded from elsewhere.
import { picturePath, type ProblemDetail } from '@reeve/sdk'

export type PicturesOf = Pick<ProblemDetail, 'problem_id' | 'pictures'>

interface PictureProps {
  src?: string | undefined
  alt?: string | undefined
}

export const pictureOf = (problem: PicturesOf) =>
  function Picture({ src = '', alt }: PictureProps) {
    const file = fileNamed(src, problem.pictures)
    if (file === undefined) return <code>{alt ?? src}</code>
    return <img src={picturePath(problem.problem_id, file)} alt={alt ?? file} loading="lazy" className="max-w-full" />
  }

/** LaTeX leaves the ending out. */
function fileNamed(src: string, files: readonly string[]): string | undefined {
  const name = src.split('/').at(-1) ?? ''
  return files.find((file) => file === name) ?? files.find((file) => file.replace(/\.\w+$/, '') === name)
}
