import { pythonModel, testInterpreter } from '../testing/python-models.ts'
import { serveRepository, type ServedRepository } from '../testing/served-repository.ts'

const config = (output: string, more = '') => `backend: "python" input [ { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] } ] output [ ${output} ] ${more}`

/** Counts its requests, and answers with the parameters that it was given. */
const TOLD = pythonModel(`
def initialize(self, args):
    family = pb_utils.MetricFamily(name="told_total", description="Requests", kind=pb_utils.MetricFamily.COUNTER)
    self.family, self.counter = family, family.Metric(labels={"model": args["model_name"]})
def execute(self, requests):
    self.counter.increment(len(requests))
    return [pb_utils.InferenceResponse([pb_utils.Tensor("TOLD", np.array([request.parameters()], dtype=object))]) for request in requests]`)
/** One answer and an error for 1, no answer for 0. */
const SEVERAL = pythonModel(`
def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        if request.inputs()[0].as_numpy()[0] > 0:
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([1], np.int32))]))
            sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError("no second answer")))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)`)
const ILL = pythonModel(`
def is_ready(self):
    return False
def execute(self, requests):
    return [pb_utils.InferenceResponse([]) for request in requests]`)

/** Models with code of their own; `--http-header-forward-pattern=X-.*` */
export function servePythonModels(): Promise<ServedRepository> {
  return serveRepository({
    'told/config.pbtxt': config('{ name: "TOLD" data_type: TYPE_STRING dims: [ 1 ] }'), 'told/1/model.py': TOLD,
    'several/config.pbtxt': config('{ name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }', 'model_transaction_policy { decoupled: true }'), 'several/1/model.py': SEVERAL,
    'ill/config.pbtxt': config('{ name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }'), 'ill/1/model.py': ILL,
  }, { httpHeaderForwardPattern: 'X-.*', backendConfig: { python: { interpreter: testInterpreter() } } })
}
