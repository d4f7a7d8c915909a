/** Whether a dialog holds the window: the keys of what lies behind it rest. */
export function isDialogOpen(): boolean {
  return document.querySelector('[role="dialog"][aria-modal="true"], [role="alertdialog"]') !== null
}
