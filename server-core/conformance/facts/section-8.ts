/** Section 8 of the protocol: what the core checks of a request. The number after the slash is the one in the section. */
import { type Fact, rule, text } from '../fact.ts'

const NOTE = 'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.'

export const SECTION_8 = {
  '8/1-unknown-output': text("unexpected inference output '<o>' for model '<m>'"),
  '8/2-input-count': text("expected <n> inputs but got <k> inputs for model '<m>'. Got input(s) [<got>], but missing required input(s) [<missing>]. Please provide all required input(s)."),
  '8/2-input-count-none': text("expected <n> inputs but got 0 inputs for model '<m>'. Got input(s) [], but missing required input(s) [<missing>]. Please provide all required input(s)."),
  '8/2-optional': text("expected number of inputs between <req> and <n> but got <k> inputs for model '<m>'"),
  '8/2-too-many': text('but missing required input(s) ]. Please provide all required input(s).'),
  '8/3-unknown-input': text("unexpected inference input '<i>' for model '<m>'"),
  '8/4-no-batch-dimension': text("input '<i>' has no shape but model requires batch dimension for '<m>'"),
  '8/4-batch-sizes': text("input '<i>' batch size does not match other inputs for '<m>'"),
  '8/4-batch-too-large': text("inference request batch-size must be <= <max> for '<m>'"),
  '8/4-batch-zero': rule('with a first dim of 0 the bytes of one full item are expected'),
  '8/5-data-type': text("inference input '<i>' data-type is '<got>', but model '<m>' expects '<expected>'"),
  '8/6-variable-dim': text("All input dimensions should be specified for input '<i>' for model '<m>', got <shape>"),
  '8/7-shape': text("unexpected shape for input '<i>' for model '<m>'. Expected <dims>, got <shape>. "),
  '8/7-note': text(NOTE),
  '8/8-reshape': rule('reshape is applied, variable dims carried over in order'),
  '8/9-byte-size': text("input byte size mismatch for input '<i>' for model '<m>'. Expected <n>, got <k>"),
  '8/9-strings-too-many': text("unexpected number of string elements <n> for inference input '<i>' for model '<m>', expecting <k>"),
  '8/9-strings-too-few': text("expected <k> string elements for inference input '<i>' for model '<m>', got <n>"),
  '8/9-string-length-cut': text("incomplete string length indicator for inference input '<i>' for model '<m>', expecting 4 bytes but only <n> bytes available. Please make sure the string length indicator is in one buffer."),
  '8/10-correlation-id': text("sequence batching control '<t>' data-type is '<got>', but model '<m>' expects '<expected>'"),
} as const satisfies Record<`8/${string}`, Fact>
