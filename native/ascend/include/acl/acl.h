// The whole of AscendCL that we call.
#pragma once

#include "acl/acl_mdl.h"
#include "acl/acl_rt.h"
