#include "tools/om_json.h"

namespace npu_console {

using namespace ascend;

namespace {

Json TensorsJson(const std::vector<OmTensor>& tensors) {
  Json list = Json::Array();
  for (const OmTensor& tensor : tensors) {
    Json json = Json::Object();
    json.Set("name", Json::Text(tensor.name));
    json.Set("datatype", Json::Text(TritonTypeName(tensor.type)));
    json.Set("acl_datatype", Json::Whole(tensor.type));
    json.Set("acl_format", Json::Whole(tensor.format));
    json.Set("dims", Json::Integers(tensor.dims));
    json.Set("bytes", Json::Whole(static_cast<int64_t>(tensor.bytes)));
    list.Append(std::move(json));
  }
  return list;
}

const char* KindName(GearKind kind) {
  switch (kind) {
    case GearKind::Batch: return "batch";
    case GearKind::Image: return "image";
    case GearKind::Free: return "dims";
    case GearKind::None: break;
  }
  return "none";
}

}  // namespace

Json DescriptionJson(const OmDescription& model) {
  Json gears = Json::Array();
  if (model.gear_kind != GearKind::None) {
    for (const Gear& gear : model.gears) {
      Json shapes = Json::Array();
      for (const Dims& dims : gear.inputs) shapes.Append(Json::Integers(dims));
      Json one = Json::Object();
      one.Set("text", Json::Text(gear.text));
      one.Set("inputs", std::move(shapes));
      gears.Append(std::move(one));
    }
  }
  Json json = Json::Object();
  json.Set("graph", Json::Text(model.GraphKind()));
  json.Set("gear_kind", Json::Text(KindName(model.gear_kind)));
  json.Set("gears", std::move(gears));
  json.Set("inputs", TensorsJson(model.inputs));
  json.Set("outputs", TensorsJson(model.outputs));
  return json;
}

}  // namespace npu_console
