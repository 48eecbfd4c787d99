#pragma once
#include "unreal_engine.h"
