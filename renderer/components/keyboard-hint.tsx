/** A shortcut as keys, beside the control it triggers. */
export function KeyboardHint({ keys }: { readonly keys: string }) {
  return <kbd className="npu-kbd">{keys}</kbd>
}
